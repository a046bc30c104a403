import { closeSync, fsync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Floor } from './floor'

const sync = promisify(fsync)

/**
 * Hashes what comes, writes it to a new file, renames that and syncs both, and nothing else. `file`
 * is its folder.
 */
export const blobInFloor: Floor = ({ file: folder, init }) => {
  mkdirSync(folder, { recursive: true })
  const shelf = openSync(folder, 'r')
  let count = 0
  return {
    '/main/blob/:blob': {
      PUT: async (request) => {
        const { blob } = request.params as { blob: string }
        const draft = join(folder, `draft-${++count}`)
        const file = openSync(draft, 'wx', 0o600)
        const hasher = new Bun.CryptoHasher('sha256')
        for await (const chunk of request.body ?? []) {
          hasher.update(chunk)
          for (let rest = chunk; rest.length > 0;) rest = rest.subarray(writeSync(file, rest))
        }
        await sync(file)
        closeSync(file)
        renameSync(draft, join(folder, `${hasher.digest('hex')}-${count}`))
        await sync(shelf)
        return new Response(JSON.stringify({ ref: `1:${blob}` }), init)
      },
    },
  }
}

/** A bare file server. `file` is what it sends. */
export const blobOutFloor: Floor = ({ file, init }) => ({
  '/main/blob/:blob': () => new Response(Bun.file(file), init),
})
