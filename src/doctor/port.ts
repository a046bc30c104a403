import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hasErrno } from '../disk'
import type { PortFacts } from './facts'

/** Tries whether a server could listen here; null when it could. */
export function lookAtPort(host: string, port: number): PortFacts | null {
  if (port === 0) return null
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } })
    probe.stop(true)
    return null
  } catch (error) {
    return hasErrno(error, 'EADDRINUSE') ? { holder: findHolder(port) } : null
  }
}

const LISTENS = '0A'

/** The process that listens on a port, as Linux shows it to root and to its own user; else null. */
function findHolder(port: number): string | null {
  const sockets = new Set(socketsAt(port).map((inode) => `socket:[${inode}]`))
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name))) {
    const isHolder = namesIn(`/proc/${pid}/fd`).some((descriptor) =>
      sockets.has(linkAt(`/proc/${pid}/fd/${descriptor}`)),
    )
    if (isHolder) return `${textOf(`/proc/${pid}/comm`).trim()} (process ${pid})`
  }
  return null
}

/** The numbers of the sockets that listen on a port (proc(5)). */
function socketsAt(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    textOf(path)
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local = '', , state]) => local.endsWith(`:${hex}`) && state === LISTENS)
      .map((fields) => fields[9] ?? ''),
  )
}

function namesIn(path: string): string[] {
  return orElse([], () => readdirSync(path))
}

function textOf(path: string): string {
  return orElse('', () => readFileSync(path, 'utf8'))
}

function linkAt(path: string): string {
  return orElse('', () => readlinkSync(path))
}

/** Processes end meanwhile, and those of others are hidden. */
function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read()
  } catch {
    return fallback
  }
}
