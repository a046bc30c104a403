import process from 'node:process'
import { FIXED_LIMITS } from '../domain/value/fixed-limits'
import type { Socket, SocketOwner } from './socket'

const MAX_BYTES = FIXED_LIMITS.frameMemory.most * 1024 * 1024

/**
 * Bounds the memory of frames that have begun and not ended, of all sockets together. Bun keeps them and tells
 * nobody whose they are, so sockets are closed until the memory falls: clients come back at once.
 * `memory` is another measure for tests.
 */
export function createFrameMemory(memory: () => number = outsideOfHeap) {
  const anonymous = new Set<Socket>()
  const known = new Set<Socket>()
  let most = MAX_BYTES
  /** The groups that were closed and did not help yet. */
  let closed = 0

  return {
    /** The owner of a socket that may be closed for it. */
    watched(owner: SocketOwner, isAnonymous: boolean): SocketOwner {
      const open = isAnonymous ? anonymous : known
      let own: Socket | undefined
      return {
        opened(socket) {
          own = socket
          open.add(socket)
          owner.opened(socket)
        },
        received: (frame) => owner.received(frame),
        drained: () => owner.drained(),
        closed(isTooLarge) {
          if (own !== undefined) open.delete(own)
          owner.closed(isTooLarge)
        },
      }
    },
    /** Called once a second: closes the sockets without a token while there is too much, then the others. */
    check() {
      if (anonymous.size + known.size === 0) return
      const bytes = memory()
      if (bytes <= most) {
        closed = 0
        return
      }
      const next = [anonymous, known].slice(closed).find(({ size }) => size > 0)
      if (next === undefined) {
        // Something else takes the memory.
        most = bytes + MAX_BYTES
        closed = 0
        return
      }
      closed = next === anonymous ? 1 : 2
      for (const socket of next) socket.terminate()
    },
  }
}

function outsideOfHeap(): number {
  const { rss, heapUsed } = process.memoryUsage()
  return rss - heapUsed
}
