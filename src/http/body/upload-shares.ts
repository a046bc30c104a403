import { SatchelError } from '../../domain/value/error'

/**
 * Uploads that come at the same time. Until each is noted the quotas know nothing of it: together they
 * must fit what is left, or a small quota would be no protection for the disk.
 */
export interface UploadShares {
  /** One more for whoever pays, who has `left` bytes left. Disposed, it is over. */
  begin(payer: string, left: number): Share
}

export interface Share extends Disposable {
  /** Throws `BUSY` when the others leave no room for so many more bytes; who is alone is not asked. */
  readonly take: (bytes: number) => void
}

export function createUploadShares(): UploadShares {
  const bytesByPayer = new Map<string, number>()
  return {
    begin(payer, left) {
      let own = 0
      const others = () => (bytesByPayer.get(payer) ?? 0) - own
      return {
        take(bytes) {
          if (others() > 0 && others() + own + bytes > left) throw tooMany()
          bytesByPayer.set(payer, others() + own + bytes)
          own += bytes
        },
        [Symbol.dispose]() {
          const rest = others()
          own = 0
          if (rest > 0) bytesByPayer.set(payer, rest)
          else bytesByPayer.delete(payer)
        },
      }
    },
  }
}

function tooMany(): SatchelError {
  return new SatchelError(
    'BUSY',
    'The uploads that are on their way take all that is left for blobs: repeat the request when they are there',
    { retryAfter: 2 },
  )
}
