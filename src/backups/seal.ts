import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { SatchelError } from '../domain/value/error'

/** The beginning of a sealed file, and the version of its format. */
const MAGIC = Buffer.from('SATCHEL1')
const SALT_BYTES = 16
/** The bytes in a piece, but for the last, and what sealing adds to each. */
const PIECE_BYTES = 64 * 1024
const TAG_BYTES = 16

/**
 * Seals a file with AES-256-GCM in pieces. Each file has a key of its own, derived from its name too, and the nonce of a
 * piece is its number and whether it is the last: pieces and files that were swapped, left out or cut off do not open.
 */
export function createSealer(key: Uint8Array, name: string) {
  const salt = randomBytes(SALT_BYTES)
  const own = deriveKey(key, salt, name)
  let number = 0
  let waiting = Buffer.alloc(0)

  function seal(bytes: Uint8Array, isLast: boolean): Buffer {
    const cipher = createCipheriv('aes-256-gcm', own, nonceOf(number, isLast))
    const sealed = [cipher.update(bytes), cipher.final(), cipher.getAuthTag()]
    const isFirst = number === 0
    number += 1
    return Buffer.concat(isFirst ? [MAGIC, salt, ...sealed] : sealed)
  }

  return {
    /** The sealed bytes that are complete with these. */
    update(bytes: Uint8Array): Uint8Array {
      waiting = Buffer.concat([waiting, bytes])
      const parts: Buffer[] = []
      // The last piece is not known before the end, and is never empty but for an empty file.
      while (waiting.length > PIECE_BYTES) {
        parts.push(seal(waiting.subarray(0, PIECE_BYTES), false))
        waiting = waiting.subarray(PIECE_BYTES)
      }
      return Buffer.concat(parts)
    },
    end: (): Uint8Array => seal(waiting, true),
  }
}

/** The bytes of a sealed file. Throws `DAMAGED` when any of it is not as it was sealed under this name with this key. */
export async function* unseal(
  key: Uint8Array,
  name: string,
  sealed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let waiting = Buffer.alloc(0)
  let own: Uint8Array | undefined
  let number = 0

  function open(piece: Buffer, isLast: boolean): Buffer {
    if (own === undefined || piece.length < TAG_BYTES) throw damaged(name)
    try {
      const decipher = createDecipheriv('aes-256-gcm', own, nonceOf(number, isLast))
      decipher.setAuthTag(piece.subarray(piece.length - TAG_BYTES))
      number += 1
      return Buffer.concat([decipher.update(piece.subarray(0, -TAG_BYTES)), decipher.final()])
    } catch (cause) {
      throw damaged(name, cause)
    }
  }

  for await (const bytes of sealed) {
    waiting = Buffer.concat([waiting, bytes])
    if (own === undefined) {
      if (waiting.length < MAGIC.length + SALT_BYTES) continue
      if (!waiting.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged(name)
      own = deriveKey(key, waiting.subarray(MAGIC.length, MAGIC.length + SALT_BYTES), name)
      waiting = waiting.subarray(MAGIC.length + SALT_BYTES)
    }
    while (waiting.length > PIECE_BYTES + TAG_BYTES) {
      yield open(waiting.subarray(0, PIECE_BYTES + TAG_BYTES), false)
      waiting = waiting.subarray(PIECE_BYTES + TAG_BYTES)
    }
  }
  yield open(waiting, true)
}

function deriveKey(key: Uint8Array, salt: Uint8Array, name: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt, `satchel-backup ${name}`, 32))
}

/** 12 bytes: the number of the piece, and 1 for the last. */
function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

function damaged(name: string, cause?: unknown): SatchelError {
  return new SatchelError(
    'DAMAGED',
    `${name} is damaged, or sealed with another key: give the key that the backup was made with (SATCHEL_BACKUP_KEY or --backup-key-file)`,
    { cause },
  )
}
