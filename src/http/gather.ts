/** Not worth the time that giving it back at once takes. */
const SMALL = 4096

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
  let bytes = Buffer.allocUnsafeSlow(0)
  let total = 0
  try {
    for await (const chunk of chunks) {
      const end = total + chunk.length
      grown(end)
      if (end > bytes.length) {
        const wider = Buffer.allocUnsafeSlow(total === 0 ? end : Math.min(most, end * 2))
        wider.set(bytes.subarray(0, total))
        release(bytes)
        bytes = wider
      }
      bytes.set(chunk, total)
      total = end
      if (chunk.length === chunk.buffer.byteLength) release(chunk)
    }
    return bytes.subarray(0, total)
  } catch (error) {
    release(bytes)
    throw error
  }
}

/**
 * Gives back at once what these bytes lie in, and nobody else does: the collector comes when that is
 * hundreds of megabytes.
 */
export function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > SMALL) buffer.transfer(0)
}
