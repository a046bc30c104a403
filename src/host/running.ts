import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createFile, isPrivateFolder } from '../disk'
import { type Holder, readHolder } from './holder'

/** A server of this user, and the data folder that it serves. */
export interface RunningServer {
  readonly folder: string
  readonly holder: Holder
}

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

/** The servers of this user on this machine. */
export function findServers(): RunningServer[] {
  try {
    return isPrivateFolder(listPath()) ? readdirSync(listPath()).flatMap(findServer) : []
  } catch {
    return []
  }
}

/** The server of one entry; none when its process has ended without removing the entry. */
function findServer(name: string): RunningServer[] {
  const folder = readFileSync(join(listPath(), name), 'utf8')
  const holder = readHolder(folder)
  const isAlive = holder !== undefined && String(holder.pid) === name && isRunning(holder.pid)
  return isAlive ? [{ folder, holder }] : []
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
