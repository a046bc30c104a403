import { S3Client } from 'bun'
import { readFileSync } from 'node:fs'
import { MANIFEST } from '../domain/backup/manifest'
import { SatchelError } from '../domain/value/error'
import { DAY } from '../domain/value/time'
import { createSealer, unseal } from './seal'
import {
  type BackupReader,
  compareBackups,
  type Draft,
  isPath,
  requireName,
  requirePath,
  type Sink,
  type Target,
  timeOfBackup,
} from './target'

/** An address `s3://<bucket>/<prefix>`, and how to get there. */
export interface BucketOptions {
  /** Seals all files; null: they are written as they are, and without the keys of databases. */
  readonly key: Uint8Array | null
  /** The address of the service: `AWS_ENDPOINT_URL`, or that of AWS without one. */
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly credentials: BucketCredentials
}

export interface BucketCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Sent at once, in bytes, at least; two of them are in memory. */
const PART_BYTES = 5 * 1024 * 1024
/** An object of a bucket has 10,000 parts at most; some are left for its seal, and for a file that grows meanwhile. */
const PARTS_OF_A_FILE = 9_000
/** A backup without a manifest is abandoned after this time: a bucket has no lock that tells it. */
const ABANDONED_AFTER_MS = 2 * DAY

export function isBucket(address: string): boolean {
  return address.startsWith('s3://')
}

/**
 * Backups in a bucket: objects below `<prefix>/<backup>/`, the manifest last. Nothing is shared between two of them,
 * because a bucket has no links. Throws `UNPROCESSABLE` for a wrong address, `STORAGE_FAILED` for errors of the service.
 */
export function openBucketTarget(address: string, options: BucketOptions): Target {
  const { bucket, prefix } = parseAddress(address)
  const { key, endpoint, region, credentials } = options
  requireSecure(endpoint)
  const client = new S3Client({
    bucket,
    ...credentials,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
  })
  const objectOf = (backup: string, path: string) => `${prefix}${backup}/${requirePath(path)}`

  async function* listObjects(below: string): AsyncGenerator<{ key: string; size: number }> {
    for (let after: string | undefined; ;) {
      const page = await explained(address, () =>
        client.list({ prefix: below, ...(after === undefined ? {} : { startAfter: after }) }),
      )
      const contents = page.contents ?? []
      for (const { key: found, size } of contents) yield { key: found, size: size ?? 0 }
      after = contents.at(-1)?.key
      if (page.isTruncated !== true || after === undefined) return
    }
  }

  /** The names of finished and unfinished backups: true for those with a manifest. */
  async function findBackups(): Promise<Map<string, boolean>> {
    const found = new Map<string, boolean>()
    for await (const { key: object } of listObjects(prefix)) {
      const [name = '', ...path] = object.slice(prefix.length).split('/')
      if (timeOfBackup(name) === undefined) continue
      found.set(name, found.get(name) === true || path.join('/') === MANIFEST)
    }
    return found
  }

  async function removeBackup(backup: string): Promise<void> {
    // Nothing without a manifest is a backup, however far the removal gets.
    await explained(address, () => client.delete(objectOf(backup, MANIFEST)))
    for await (const { key: object } of listObjects(`${prefix}${backup}/`)) {
      await explained(address, () => client.delete(object))
    }
  }

  function create(backup: string, path: string, bytes = 0): Sink {
    const object = objectOf(backup, path)
    const partSize = Math.max(PART_BYTES, Math.ceil(bytes / PARTS_OF_A_FILE))
    const writer = client.file(object).writer({ partSize, queueSize: 1, retry: 3 })
    const sealer = key === null ? undefined : createSealer(key, `${backup}/${path}`)
    const put = async (bytes: Uint8Array) => {
      // The writer keeps what it is given.
      if (bytes.length > 0) await writer.write(new Uint8Array(bytes))
      if (bytes.length > 0) await writer.flush()
    }
    return {
      write: (bytes) => explained(address, () => put(sealer?.update(bytes) ?? bytes)),
      end: () =>
        explained(address, async () => {
          if (sealer !== undefined) await put(sealer.end())
          await writer.end()
        }),
      discard: () => explained(address, () => client.delete(object)),
    }
  }

  const reader: BackupReader = {
    async *files(backup) {
      const below = `${prefix}${requireName(backup)}/`
      for await (const { key: object, size } of listObjects(below)) {
        yield { path: object.slice(below.length), size }
      }
    },
    async *read(backup, path) {
      const file = client.file(objectOf(requireName(backup), path))
      if (!(await explained(address, () => file.exists()))) {
        throw new SatchelError('DAMAGED', `${path} is missing from the backup`)
      }
      const bytes = explainedPieces(address, file.stream())
      yield* key === null ? bytes : unseal(key, `${backup}/${path}`, bytes)
    },
  }

  return {
    ...reader,
    name: address,
    warnings: [],
    canShare: false,
    takesKeys: key !== null,
    async prepare() {},
    async list() {
      const found = await findBackups()
      return [...found.keys()].filter((name) => found.get(name)).toSorted(compareBackups)
    },
    async begin(backup): Promise<Draft> {
      requireName(backup)
      let isFinished = false
      return {
        create: async (path, bytes) => create(backup, path, bytes),
        reuse: async () => false,
        sync: async () => reader,
        async finish(manifest) {
          const sink = create(backup, MANIFEST)
          await sink.write(Buffer.from(manifest))
          await sink.end()
          isFinished = true
        },
        async [Symbol.asyncDispose]() {
          if (!isFinished) await removeBackup(backup).catch(() => undefined)
        },
      }
    },
    remove: (backup) => removeBackup(requireName(backup)),
    async clean(now) {
      for (const [name, isComplete] of await findBackups()) {
        const isOld = (timeOfBackup(name) ?? 0) < now - ABANDONED_AFTER_MS
        if (!isComplete && isOld) await removeBackup(name)
      }
    },
  }
}

/** From `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or the file that `AWS_SHARED_CREDENTIALS_FILE` names. */
export function readCredentials(
  environment: Readonly<Record<string, string | undefined>>,
): BucketCredentials {
  const { AWS_SHARED_CREDENTIALS_FILE: file } = environment
  const given = file === undefined ? {} : readCredentialsFile(file)
  const accessKeyId = environment['AWS_ACCESS_KEY_ID'] ?? given['aws_access_key_id']
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY'] ?? given['aws_secret_access_key']
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new SatchelError(
      'UNPROCESSABLE',
      'A bucket needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name their file with AWS_SHARED_CREDENTIALS_FILE',
    )
  }
  const sessionToken = environment['AWS_SESSION_TOKEN'] ?? given['aws_session_token']
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}

/** The default profile of a file as the tools of AWS have it. */
function readCredentialsFile(file: string): Readonly<Record<string, string>> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new SatchelError('UNPROCESSABLE', `The file of credentials ${file} cannot be read`, {
      cause,
    })
  }
  const [, profile = text] = /^\[default\]([^[]*)/m.exec(text) ?? []
  const pairs = profile.split('\n').map((line) => line.split('=', 2).map((part) => part.trim()))
  return Object.fromEntries(pairs.filter((pair) => pair.length === 2))
}

function parseAddress(address: string): { readonly bucket: string; readonly prefix: string } {
  const [, bucket, path = ''] =
    /^s3:\/\/([a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/(.*))?$/.exec(address) ?? []
  const trimmed = path.replace(/\/$/, '')
  if (bucket === undefined || (trimmed !== '' && !isPath(trimmed))) {
    throw new SatchelError('UNPROCESSABLE', 'The address of a bucket is s3://bucket/prefix')
  }
  return { bucket, prefix: trimmed === '' ? '' : `${trimmed}/` }
}

/** Throws `UNPROCESSABLE` for http beyond this machine. */
function requireSecure(endpoint: string | undefined): void {
  if (endpoint === undefined) return
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(url?.hostname ?? '')
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback)) return
  throw new SatchelError(
    'UNPROCESSABLE',
    'AWS_ENDPOINT_URL must be an https address: a backup holds all data',
  )
}

/** A connection that breaks is no damage of the backup. */
async function* explainedPieces(
  address: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
  } catch (cause) {
    throw unusable(address, cause)
  }
}

async function explained<T>(address: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof SatchelError ? cause : unusable(address, cause)
  }
}

/** The words of the service say what is wrong, and no secret. */
function unusable(address: string, cause: unknown): SatchelError {
  const words = cause instanceof Error ? cause.message : String(cause)
  return new SatchelError('STORAGE_FAILED', `${address} cannot be used: ${words}`, { cause })
}
