/** Smaller buffers are left to the garbage collector. */
const TINY_BYTES = 4096
const NONE = new Uint8Array(0)

/** Bytes that are put together from chunks of any size. Disposing frees them, unless they were taken. */
export interface Gathered extends Disposable {
  readonly length: number
  /** Appends the chunk, whose buffer is freed or kept. */
  add(chunk: Uint8Array): void
  /** The bytes that were added since `clear`; valid until the next call. */
  bytes(): Uint8Array
  clear(): void
  /** `bytes` for good: the caller frees the memory. */
  take(): Uint8Array
}

/** One buffer that grows to at most `most` bytes: the overhead of small chunks would exceed their content. */
export function gather(most: number): Gathered {
  let buffer: Uint8Array = NONE
  let length = 0

  function grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(most, needed * 2)))
    larger.set(buffer.subarray(0, length))
    free(buffer)
    buffer = larger
  }

  return {
    get length() {
      return length
    },
    add(chunk) {
      const end = length + chunk.length
      if (buffer === NONE && isSoleView(chunk)) {
        buffer = chunk
      } else {
        if (end > buffer.length) grow(end)
        buffer.set(chunk, length)
        freeChunk(chunk)
      }
      length = end
    },
    bytes: () => (length === buffer.length ? buffer : buffer.subarray(0, length)),
    clear() {
      length = 0
    },
    take() {
      const taken = this.bytes()
      buffer = NONE
      length = 0
      return taken
    },
    [Symbol.dispose]() {
      free(buffer)
      buffer = NONE
      length = 0
    },
  }
}

/** Frees a chunk of a stream, unless other chunks share its buffer. */
export function freeChunk(chunk: Uint8Array): void {
  if (isSoleView(chunk)) free(chunk)
}

/** True when no other view shares the buffer, or the view is too small to free. */
function isSoleView(bytes: Uint8Array): boolean {
  return bytes.length <= TINY_BYTES || bytes.length === bytes.buffer.byteLength
}

/**
 * Frees the buffer at once; the bytes and all other views of it are empty afterwards. The garbage
 * collector would wait until buffers take hundreds of megabytes.
 */
export function free(bytes: Uint8Array): void {
  if (bytes.length > TINY_BYTES && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}
