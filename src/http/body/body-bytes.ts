/** Not worth the time that giving it back at once takes. */
const SMALL = 4096
const NONE = new Uint8Array(0)

/**
 * The chunks in one piece that grows to at most `most` bytes: small ones, kept, would be many times
 * what is in them. `grown` is told how many bytes there are before they are taken, and throws when
 * there are too many.
 */
export async function gather(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
  grown: (total: number) => void,
): Promise<Uint8Array> {
  let bytes: Uint8Array = NONE
  let total = 0
  try {
    for await (const chunk of chunks) {
      const end = total + chunk.length
      grown(end)
      const isOurs = isAlone(chunk)
      if (total === 0 && isOurs) {
        bytes = chunk
      } else {
        if (end > bytes.length) bytes = widen(bytes, total, Math.min(most, end * 2))
        bytes.set(chunk, total)
        if (isOurs) release(chunk)
      }
      total = end
    }
    return total === bytes.length ? bytes : bytes.subarray(0, total)
  } catch (error) {
    release(bytes)
    throw error
  }
}

function widen(bytes: Uint8Array, used: number, length: number): Uint8Array {
  const wider = Buffer.allocUnsafeSlow(length)
  wider.set(bytes.subarray(0, used))
  release(bytes)
  return wider
}

/** Nothing else lies where these bytes do, or they are too few to be given back. */
function isAlone(bytes: Uint8Array): boolean {
  return bytes.length <= SMALL || bytes.length === bytes.buffer.byteLength
}

/**
 * Gives back at once what these bytes lie in, and nobody else does: the collector comes when that is
 * hundreds of megabytes.
 */
export function release(bytes: Uint8Array): void {
  if (bytes.length > SMALL && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}
