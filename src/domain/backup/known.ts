import { NEWLINE } from '../json/bytes'

/**
 * The blobs that the receiver of a backup has: a line for each, `<database> <hash>`, in the order of both. The returned
 * function is asked in this order too, so that a stream of any length takes no memory.
 */
export function createKnownBlobs(
  upload: AsyncIterable<Uint8Array> | undefined,
): (database: string, hash: string) => Promise<boolean> {
  if (upload === undefined) return async () => false
  const lines = linesOf(upload)
  let line: string | undefined = ''
  return async (database, hash) => {
    const asked = knownLine(database, hash)
    while (line !== undefined && line < asked) {
      const next = await lines.next()
      line = next.done === true ? undefined : next.value
    }
    return line === asked
  }
}

/** A space comes before all characters of names, so that lines are ordered as names are. */
export function knownLine(database: string, hash: string): string {
  return `${database} ${hash}`
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes) {
    rest = Buffer.concat([rest, chunk])
    let start = 0
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield rest.toString('utf8', start, end)
      start = end + 1
    }
    rest = rest.subarray(start)
  }
}
