import { Database } from 'bun:sqlite'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Executable, type StartOptions, startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { integrityOf } from './integrity'
import { killDuring } from './kill-writers'
import { createRandom, type Random } from './random'
import { isConnectionLost } from './writers'

export interface KilledUploads {
  readonly rounds: number
  readonly acknowledged: number
  /** Uploads that were on their way when the process died. */
  readonly broken: number
  /** Acknowledged, and gone by right. */
  readonly lost: number
  /** Files that no blob needs, in the end. */
  readonly strays: number
  readonly problems: readonly string[]
}

interface Upload {
  readonly id: string
  readonly bytes: Buffer
  isSent: boolean
  isAcknowledged: boolean
}

/** Events besides a killed process. */
export interface Disaster {
  /** How it is started, each time. */
  readonly options: StartOptions
  /** Its effect on the data folder while no server runs. */
  strike(): void
  /** Whether a disk has forgotten bytes and names so far, without which the disaster shows nothing. */
  hasForgotten(): boolean
  /** Whether acknowledged blobs may be gone, as if they had never come. */
  readonly losesRecords: boolean
}

/**
 * Kills the executable with SIGKILL under 4 to 24 uploaders and starts it again on the same folder:
 * every acknowledged blob is whole, none is visible that was not wholly sent, and no file is left
 * that no blob needs.
 */
export async function killUploads(
  rounds: number,
  seed: number,
  prepare?: (folder: string, random: Random) => Promise<Disaster>,
): Promise<KilledUploads> {
  using folder = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  const acknowledged: Upload[] = []
  let broken = 0
  let strays = 0
  const lost = new Set<string>()
  const disaster = await prepare?.(folder.path, random)
  let executable = await startExecutable(folder.path, disaster?.options)
  const options = { ...disaster?.options, client: executable.client }
  try {
    // A kill may strike between two names: then more rounds follow.
    const isOver = (round: number) => disaster?.hasForgotten() !== false || round > 15 * rounds
    for (let round = 1; round <= rounds || !isOver(round); round += 1) {
      const { token = '' } = await executable.as(`alice-${round}@example.com`)
      const uploads: Upload[] = []
      const uploaders = Array.from({ length: random.between(4, 24) }, (_, uploader) =>
        uploadAway(
          executable,
          token,
          `r${round}-${uploader}`,
          createRandom(seed + round * 1_000 + uploader),
          uploads,
        ),
      )
      const hasBegun = () => uploads.some(({ isAcknowledged }) => isAcknowledged)
      await killDuring(executable, uploaders, random.between(0, 200), hasBegun)
      disaster?.strike()
      executable = await startExecutable(folder.path, options)
      const tell = (problem: string) => void problems.push(`round ${round}: ${problem}`)
      const { over, missing } = await filesAfterSweep(folder.path)
      missing.concat(over).forEach(tell)
      const known = uploads.filter(({ isAcknowledged }) => isAcknowledged)
      acknowledged.push(...known)
      broken += uploads.length - known.length
      const earlier = Array.from({ length: 5 }, () =>
        random.pick(acknowledged.length > 0 ? acknowledged : uploads),
      )
      const root = await executable.root()
      for (const upload of [...uploads, ...earlier]) {
        const state = await stateOf(executable, root.token ?? '', upload)
        const { id, isAcknowledged, isSent } = upload
        if (state === 'whole' && (isAcknowledged || isSent)) continue
        if (state === 'absent' && !isAcknowledged) continue
        if (state === 'absent' && disaster?.losesRecords === true) lost.add(id)
        else tell(`${id} was ${isAcknowledged ? 'acknowledged' : 'broken off'} and is ${state}`)
      }
      const integrity = integrityOf(folder.path)
      if (integrity !== 'ok') tell(integrity)
    }
    const { commands } = executable
    const { faults } = await commands.run('blob.verify', { database: 'main' })
    problems.push(...faults.map(({ problem, hash }) => `in the end ${hash} is ${problem}`))
    const { over } = filesLeft(folder.path)
    problems.push(...over)
    strays = over.length
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  const counts = { acknowledged: acknowledged.length, broken, lost: lost.size, strays }
  return { rounds, ...counts, problems }
}

/** Uploads one blob after the other until the server is gone. */
async function uploadAway(
  { main }: Executable,
  token: string,
  name: string,
  random: Random,
  uploads: Upload[],
): Promise<void> {
  for (let count = 0; ; count += 1) {
    const upload: Upload = {
      id: `${name}-${count}`,
      bytes: contentOf(random, name),
      isSent: false,
      isAcknowledged: false,
    }
    uploads.push(upload)
    try {
      const { status } = await fetch(`${main}/blob/${upload.id}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}` },
        body: bodyOf(upload, random),
      })
      if (status !== 200) throw new Error(`an upload was answered ${status}`)
      upload.isAcknowledged = true
    } catch (error) {
      if (isConnectionLost(error)) return
      throw error
    }
  }
}

/** Some of them are the same for everyone at that time. */
function contentOf(random: Random, name: string): Buffer {
  const size = random.pick([0, 1, 4_096, 50_000, 300_000, 300_000, 2_000_000])
  const seed = random.next() < 0.3 ? random.between(1, 3) : `${name} ${random.next()}`
  return Buffer.alloc(size, Bun.hash(`${seed}`).toString(36))
}

/** At once with its length, or in chunks that take their time. */
function bodyOf(upload: Upload, random: Random): Uint8Array<ArrayBuffer> | ReadableStream {
  const { bytes } = upload
  if (random.next() < 0.4) {
    upload.isSent = true
    return new Uint8Array(bytes)
  }
  const step = Math.max(1, Math.ceil(bytes.length / 5))
  let at = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(random.between(0, 5))
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, (at += step)))
      upload.isSent = at >= bytes.length
      if (upload.isSent) controller.close()
    },
  })
}

async function stateOf({ main }: Executable, token: string, { id, bytes }: Upload) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${main}/blob/1:${id}`, { headers })
  if (answer.status === 404) return 'absent'
  const found = Buffer.from(await answer.arrayBuffer())
  return answer.status === 200 && found.equals(bytes) ? 'whole' : 'damaged'
}

/** The same once the server has had time to remove what no blob needs: it does so beside the first requests. */
async function filesAfterSweep(folder: string) {
  for (let left = 100; ; left -= 1) {
    const files = filesLeft(folder)
    if (files.over.length === 0 || left === 0) return files
    await Bun.sleep(20)
  }
}

/** Faults of the files beside the database: too many, or not enough. */
function filesLeft(folder: string) {
  const main = join(folder, 'databases', 'main')
  using database = new Database(join(main, 'database.sqlite'), { readonly: true })
  const rows = database.query<{ file: string }, []>('SELECT file FROM blobs').all()
  const needed = new Set(rows.map(({ file }) => file))
  const blobs = join(main, 'blobs')
  const files = readdirSync(blobs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(blobs.length + 1))
  return {
    over: files.filter((file) => !needed.has(file)).map((file) => `${file} is left over`),
    missing: [...needed]
      .filter((file) => !files.includes(file))
      .map((file) => `${file} is missing`),
  }
}
