import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createFile, isPrivateFolder } from '../disk'
import { readHolder } from './holder'

/**
 * Lets commands that name no data folder find this server, until disposed. Nothing depends on it: where
 * the list cannot be written, they have to name the folder.
 */
export function listServer(folder: string): Disposable {
  const path = join(listPath(), String(process.pid))
  try {
    mkdirSync(listPath(), { recursive: true, mode: 0o700 })
    if (!isPrivateFolder(listPath())) return { [Symbol.dispose]() {} }
    // An earlier process with this number may have left it.
    rmSync(path, { force: true })
    using undo = new DisposableStack()
    writeFileSync(undo.adopt(createFile(path), closeSync), folder)
  } catch {
    return { [Symbol.dispose]() {} }
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) }
}

/** The data folders that servers of this user serve on this machine. */
export function findServedFolders(): string[] {
  try {
    return isPrivateFolder(listPath()) ? readdirSync(listPath()).flatMap(findFolder) : []
  } catch {
    return []
  }
}

/** The folder of one entry; none when its process has ended without removing the entry. */
function findFolder(name: string): string[] {
  const folder = readFileSync(join(listPath(), name), 'utf8')
  const holder = readHolder(folder)
  const isAlive = holder !== undefined && String(holder.pid) === name && isRunning(holder.pid)
  return isAlive ? [folder] : []
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function listPath(): string {
  const { XDG_RUNTIME_DIR: own, TMPDIR: temporary } = process.env
  return own ? join(own, 'satchel') : join(temporary || '/tmp', `satchel-${process.getuid?.()}`)
}
