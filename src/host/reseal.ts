import { join } from 'node:path'
import { sealedKeys } from '../auth/key/key'
import { seal, unseal } from '../auth/key/seal'
import { readKeyFile, removeKeyFile } from '../auth/key/secret-key'
import { sealedProviders } from '../auth/provider/providers'
import type { Clock } from '../clock'
import { type AuditLine, lineOfServer } from '../domain/store/audit'
import type { Database, ReadTx } from '../domain/store/store'
import type { SealedText } from '../domain/store/vault'
import { sealedWebhook } from '../domain/user/webhook'
import { SatchelError } from '../domain/value/error'
import { sealedMails } from '../mail/mailer'
import { openFolderEngine } from './folder-engine'

/** The keys of a folder whose secrets are sealed anew. */
export interface ResealKeys {
  /** `SATCHEL_SECRET_KEY` so far; null when each database has a key of its own. */
  readonly from: Uint8Array | null
  readonly to: Uint8Array
}

export interface Resealed {
  readonly database: string
  /** How many secrets were sealed anew; 0 when all were under the new key. */
  readonly secrets: number
}

/**
 * Seals the secrets of all databases of a folder, which this process has locked, under one key. Each database changes in
 * one transaction; one that was interrupted is completed by the next call. Throws `STORAGE_FAILED` when a database cannot
 * be opened, or its secrets are under neither key: then nothing was changed.
 */
export async function resealFolder(
  folder: string,
  keys: ResealKeys,
  { clock, uid }: { readonly clock: Clock; readonly uid: number | null },
): Promise<Resealed[]> {
  await using engine = openFolderEngine(folder, {
    durability: 'full',
    secretKey: keys.to,
    clock,
    clockOf: () => clock,
  })
  const { store, serverAudit } = engine
  const line = { ...lineOfServer('key.reseal', clock.now()), door: 'command', uid } as const
  const names = await store.list()
  const keysOf = (name: string) => {
    const path = keyPath(folder, name)
    const known = [keys.from ?? undefined, readKeyFile(path)].filter((key) => key !== undefined)
    return { path, known }
  }
  for (const name of names) {
    await using database = await store.open(name)
    await requireKnownKey(database, [keys.to, ...keysOf(name).known])
  }
  serverAudit.put({ ...line, result: 'begun' })
  const resealed: Resealed[] = []
  for (const name of names) {
    await using database = await store.open(name)
    const { path, known } = keysOf(name)
    const secrets = await resealDatabase(database, known, keys.to, { ...line, result: 'done' })
    // Only now: until the commit the secrets can be opened with it alone.
    await removeKeyFile(path)
    resealed.push({ database: name, secrets })
  }
  serverAudit.put({ ...line, result: 'done' })
  return resealed
}

async function requireKnownKey(database: Database, keys: readonly Uint8Array[]): Promise<void> {
  const texts = await database.read(listSealed)
  const lost = texts.find((text) => !text.mayBeLost && openWith(keys, text) === undefined)
  if (lost === undefined) return
  throw new SatchelError(
    'STORAGE_FAILED',
    `The secrets of the database ${database.name} are sealed with another key, so nothing was changed: set SATCHEL_SECRET_KEY or --old-key-file to the key of the server, or put the file secret.key of this database back`,
  )
}

/** Returns how many secrets were not under the new key. */
function resealDatabase(
  database: Database,
  known: readonly Uint8Array[],
  to: Uint8Array,
  line: AuditLine,
): Promise<number> {
  return database.write((tx) => {
    const old = listSealed(tx).flatMap((sealed) => {
      if (openWith([to], sealed) !== undefined) return []
      const text = openWith(known, sealed)
      return text === undefined ? [] : [{ sealed, text }]
    })
    for (const { sealed, text } of old) sealed.replace(tx, seal(to, text, sealed.label))
    if (old.length > 0) tx.audit.put(line)
    return old.length
  })
}

function listSealed(tx: ReadTx): SealedText[] {
  return [...sealedKeys(tx), ...sealedProviders(tx), ...sealedWebhook(tx), ...sealedMails(tx)]
}

/** The text, opened with the first key that fits; undefined when none does. */
function openWith(keys: readonly Uint8Array[], { sealed, label }: SealedText): string | undefined {
  for (const key of keys) {
    try {
      return unseal(key, sealed, label)
    } catch (error) {
      if (!(error instanceof SatchelError) || error.code !== 'STORAGE_FAILED') throw error
    }
  }
  return undefined
}

function keyPath(folder: string, database: string): string {
  return join(folder, 'databases', database, 'secret.key')
}
