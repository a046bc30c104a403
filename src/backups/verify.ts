import { BLOB_LIST, blobPath, folderOf, type Manifest, MANIFEST } from '../domain/backup/manifest'
import { eachUntilAborted } from '../domain/value/abort'
import { SatchelError } from '../domain/value/error'
import { readBlobList, readManifestOf } from './contents'
import { type BackupReader, isPath } from './target'

/** Something that is not as the manifest says. */
export interface BackupFault {
  readonly path: string
  readonly problem: 'damaged' | 'missing' | 'added' | 'no file'
}

/** Files that were compared, bytes in them, and those that differ. */
export interface Comparison {
  readonly files: number
  readonly bytes: number
  readonly faults: readonly BackupFault[]
}

export interface BackupCheck extends Comparison {
  readonly manifest: Manifest
  /** The SHA-256 of the manifest. */
  readonly hash: string
}

export interface VerifyOptions {
  readonly progress?: (bytes: number) => void
  /** Ends the work, which throws its reason, even while a read hangs. */
  readonly signal?: AbortSignal
  /** Looks for damage in the structure of a database file on this machine, which changes nothing in it. */
  readonly damageIn?: (file: string, signal?: AbortSignal) => Promise<readonly string[]>
}

interface Expected {
  readonly size: number
  readonly hash: string
}

/**
 * Reads everything of a backup again, and compares it with the manifest. Throws `DAMAGED`
 * when the manifest itself is damaged, and `NEWER_DATA`.
 */
export async function verifyBackup(
  target: BackupReader,
  backup: string,
  options: VerifyOptions = {},
): Promise<BackupCheck> {
  const { manifest, hash } = await readManifestOf(abortable(target, options.signal), backup)
  return { manifest, hash, ...(await compareBackup(target, backup, manifest, options)) }
}

/** Compares everything but the manifest, which may be written later. */
export async function compareBackup(
  written: BackupReader,
  backup: string,
  manifest: Manifest,
  { progress = () => undefined, signal, damageIn }: VerifyOptions,
): Promise<Comparison> {
  const target = abortable(written, signal)
  const faults: BackupFault[] = []
  const found = await findFiles(target, backup, faults)
  const total = { files: 0, bytes: 0 }

  async function check(path: string, expected: Expected): Promise<boolean> {
    if (!isPath(path) || !found.delete(path)) {
      if (!faults.some((fault) => fault.path === path)) faults.push({ path, problem: 'missing' })
      return false
    }
    const read = await hashFile(
      target,
      backup,
      path,
      (bytes) => progress((total.bytes += bytes)),
      signal,
    )
    total.files += 1
    if (read !== undefined && read.hash === expected.hash && read.size === expected.size)
      return true
    faults.push({ path, problem: 'damaged' })
    return false
  }

  found.delete(MANIFEST)
  const isSound = new Map<string, boolean>()
  for (const { path, ...expected } of manifest.files) {
    isSound.set(path, await check(path, expected))
  }
  for (const { name } of manifest.databases) {
    // The files of a list that is damaged are not known.
    if (isSound.get(`${folderOf(name)}/${BLOB_LIST}`) !== true) {
      for (const path of found) if (path.startsWith(`${folderOf(name)}/blobs/`)) found.delete(path)
      continue
    }
    for await (const { hash, size } of readBlobList(target, backup, name)) {
      await check(blobPath(name, hash), { hash, size })
    }
  }
  for (const { name } of manifest.databases) {
    const path = `${folderOf(name)}/database.sqlite`
    if (damageIn === undefined || target.fileOf === undefined || isSound.get(path) !== true)
      continue
    const damage = await damageIn(target.fileOf(backup, path), signal)
    if (damage.length > 0) faults.push({ path, problem: 'damaged' })
  }
  for (const path of found) faults.push({ path, problem: 'added' })
  return { ...total, faults }
}

function abortable(target: BackupReader, signal: AbortSignal | undefined): BackupReader {
  return {
    ...target,
    files: (backup) => eachUntilAborted(target.files(backup), signal),
    read: (backup, path) => eachUntilAborted(target.read(backup, path), signal),
  }
}

/** The files of a backup; other things are faults. */
async function findFiles(
  target: BackupReader,
  backup: string,
  faults: BackupFault[],
): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const { path, size } of target.files(backup)) {
    if (size === null) faults.push({ path, problem: 'no file' })
    else found.add(path)
  }
  return found
}

/** Undefined when it cannot be read, which is no damage where the target itself cannot be used. */
async function hashFile(
  target: BackupReader,
  backup: string,
  path: string,
  onBytes: (count: number) => void,
  signal?: AbortSignal,
): Promise<Expected | undefined> {
  const hasher = new Bun.CryptoHasher('sha256')
  let size = 0
  try {
    for await (const piece of target.read(backup, path)) {
      hasher.update(piece)
      size += piece.length
      onBytes(piece.length)
    }
  } catch (error) {
    const isUnusable = error instanceof SatchelError && error.code !== 'DAMAGED'
    if (signal?.aborted === true || isUnusable) throw error
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
  return { size, hash: hasher.digest('hex') }
}
