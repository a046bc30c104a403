import { formatRef, parseRef } from '../value/blob'
import { SatchelError, quoted } from '../value/error'
import type { RealmRef } from '../store/realms'
import type { BlobState, StoredBlob } from '../store/blobs'
import type { Database, ReadTx } from '../store/store'

/** A blob as commands show it; times are ISO. */
interface BlobJson {
  readonly ref: string
  readonly size: number
  readonly type: string
  readonly hash: string
  readonly created: string
  /** Null while an object references it. */
  readonly unreferencedSince: string | null
}

export interface BlobDetails extends BlobJson {
  /** Ids of those who uploaded it. */
  readonly uploaders: readonly string[]
  /** Objects that reference it, up to `REFERENCES` of them. */
  readonly references: readonly {
    readonly realm: string
    readonly table: string
    readonly key: string
  }[]
  readonly hasMoreReferences: boolean
}

export interface BlobPage {
  readonly blobs: readonly BlobJson[]
  /** The position of the next page, or null. */
  readonly next: string | null
}

const REFERENCES = 100
const LONGEST_PAGE = 10_000

/** Up to `limit` blobs after a position, in the order of their ids. */
export async function listBlobs(
  database: Database,
  after: string,
  limit: number,
  onlyIdle: boolean,
): Promise<BlobPage> {
  const most = Math.min(Math.max(Math.trunc(limit), 1), LONGEST_PAGE)
  const found = await database.read((tx) => tx.blobs.list(after, most + 1, onlyIdle))
  const blobs = found.slice(0, most)
  const next = found.length > most ? (blobs.at(-1)?.id ?? null) : null
  return { blobs: blobs.map(toJson), next }
}

/** One blob, by its id or ref. Throws `UNKNOWN_BLOB`. */
export async function describeBlob(database: Database, name: string): Promise<BlobDetails> {
  const id = parseRef(name) ?? name
  return await database.read((tx) => {
    const blob = tx.blobs.find(id)
    if (blob === undefined) throw unknownBlob(name)
    const found = tx.blobs.references(id, REFERENCES + 1)
    const references = []
    for (const { table, realm, key } of found.slice(0, REFERENCES)) {
      references.push({ realm: idOf(tx, realm), table, key })
    }
    const uploaders = []
    for (const realm of tx.blobs.uploaders(id)) uploaders.push(idOf(tx, realm))
    const hasMoreReferences = found.length > REFERENCES
    return { ...toJson(blob), uploaders, references, hasMoreReferences }
  })
}

/** `name` is an id or a ref. */
export function unknownBlob(name: string): SatchelError {
  return new SatchelError('UNKNOWN_BLOB', `There is no blob ${quoted(name)}`)
}

function idOf(tx: ReadTx, ref: RealmRef): string {
  const realm = tx.realms.findByRef(ref)
  return realm?.id ?? 'being erased'
}

function toJson({ id, hash, size, type, created, idleSince }: BlobState): BlobJson {
  return {
    ref: formatRef(id),
    size,
    type,
    hash,
    created: new Date(created).toISOString(),
    unreferencedSince: idleSince === null ? null : new Date(idleSince).toISOString(),
  }
}

const BATCH = 200

/** The results of `use` for all blobs in order of their files, page by page, each in the read of its page. */
export async function* pagesByFile<T>(
  database: Database,
  use: (tx: ReadTx, blobs: readonly StoredBlob[]) => T,
): AsyncGenerator<T> {
  let last: StoredBlob | undefined
  do {
    const after: StoredBlob | undefined = last
    const page = await database.read((tx) => {
      const blobs = tx.blobs.byFile(after, BATCH)
      return { used: use(tx, blobs), last: blobs.length < BATCH ? undefined : blobs.at(-1) }
    })
    yield page.used
    last = page.last
  } while (last !== undefined)
}
