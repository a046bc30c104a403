import type { Clock } from '../../clock'

/** Makes the ids of `@` tables (protocol.md §10.2). */
export interface Ids {
  /**
   * `prefix`, then 24 characters that sort by time, then the last three characters of `realmId`.
   * Of two ids with one prefix the later one is greater, regardless of the clock.
   */
  newId(prefix: string, realmId: string): string
  /** Milliseconds in the newest id. Stored, it keeps ids in order over a restart (promise 11). */
  readonly highWater: number
  /** Later ids come after those that others made up to this time: their `highWater`, in ms. */
  passOver(time: number): void
}

/** The clients' id generator, with an injected clock and a high-water mark that can be stored. */
export function createIds(clock: Clock): Ids {
  const pool = new Uint8Array(RANDOM_BYTES * POOLED_IDS)
  const text = Buffer.alloc(24)
  let drawn = pool.length
  let time = 0
  let writtenTime = -1

  function newId(prefix: string, realmId: string): string {
    const now = Math.trunc(clock.now())
    time = now > time ? now : time + 1
    writeTime()
    writeRandom()
    return prefix + text.toString('latin1') + suffixOf(realmId)
  }

  /** Six bytes, of which the upper 36 bits last for four seconds. */
  function writeTime(): void {
    const low = time % 4096
    const high = (time - low) / 4096
    if (high !== writtenTime) {
      if (high >= 2 ** 36) throw new RangeError('Time does not fit into the six bytes of an id')
      writeTriple(text, 0, Math.floor(high / 4096))
      text[4] = CHARACTERS[(high >>> 6) & 63]!
      text[5] = CHARACTERS[high & 63]!
      writtenTime = high
    }
    text[6] = CHARACTERS[low >> 6]!
    text[7] = CHARACTERS[low & 63]!
  }

  function writeRandom(): void {
    if (drawn === pool.length) {
      crypto.getRandomValues(pool)
      drawn = 0
    }
    for (let at = 8; at < 24; at += 4, drawn += 3) {
      writeTriple(text, at, (pool[drawn]! << 16) | (pool[drawn + 1]! << 8) | pool[drawn + 2]!)
    }
  }

  return {
    newId,
    get highWater() {
      return time
    },
    passOver(other) {
      time = Math.max(time, other)
    },
  }
}

/** A secret of `bytes` random bytes (16 or more) as base64url. */
export function randomToken(bytes: number): string {
  const token = Buffer.alloc(bytes)
  crypto.getRandomValues(token)
  return token.toString('base64url')
}

/**
 * The id prefix that the clients choose for a table (protocol.md §10.2): the first letter, then
 * consonants and capitals, up to three characters; never one of `taken`. Where their search
 * would not end, or would give a prefix with another meaning in a key, the server chooses its own.
 */
export function idPrefixFor(tableName: string, taken: ReadonlySet<string>): string {
  let prefix = firstPrefix(tableName)
  while (isIdPrefix(prefix)) {
    if (!taken.has(prefix)) return prefix
    prefix = nextPrefix(prefix, taken)
  }
  return numberedPrefix(taken)
}

/** b64lex (protocol.md §1.3): base64 whose characters sort like what they stand for. */
const CHARACTERS = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz|')
const RANDOM_BYTES = 12
/** As many as `getRandomValues` fills at once (65,536 bytes). */
const POOLED_IDS = 5461

/** Writes 24 bits as four characters. */
function writeTriple(text: Uint8Array, at: number, bits: number): void {
  text[at] = CHARACTERS[bits >> 18]!
  text[at + 1] = CHARACTERS[(bits >> 12) & 63]!
  text[at + 2] = CHARACTERS[(bits >> 6) & 63]!
  text[at + 3] = CHARACTERS[bits & 63]!
}

/** Cutting a pair of surrogates in two would make a key that is not well-formed. */
function suffixOf(realmId: string): string {
  const suffix = realmId.slice(-3)
  const first = suffix.charCodeAt(0)
  return first >= 0xdc00 && first <= 0xdfff ? suffix.slice(1) : suffix
}

function firstPrefix(tableName: string): string {
  let prefix = tableName.charAt(0).toLowerCase()
  for (let i = 1; i < tableName.length && prefix.length < 3; i++) {
    const letter = tableName.charAt(i)
    if (/[b-df-hj-np-tvx-z]/i.test(letter) || (letter >= 'A' && letter <= 'Z')) {
      prefix += letter.toLowerCase()
    }
  }
  return prefix
}

/** Not the start of a private (`#`) or compound (`[`) key, and text that a key may hold. */
export function isIdPrefix(prefix: string): boolean {
  return /^[^#[\p{Cc}][^\p{Cc}]{0,2}$/u.test(prefix) && prefix.isWellFormed()
}

/**
 * The ids that clients try after `prefix`. Finite: their letters run into the control characters.
 */
function nextPrefix(prefix: string, taken: ReadonlySet<string>): string {
  if (/\d/.test(prefix)) {
    // They add 1 to a digit as text: "a2" is followed by "a21".
    const longer = `${prefix}1`
    if (longer.length <= 3) return longer
  } else if (prefix.length < 3) {
    return `${prefix}2`
  }
  // Capitals for the bits 1 to 6; they do not look at the outcome of 7.
  for (let bits = 1; bits < 7; bits++) {
    const recased = recase(prefix, bits)
    if (!taken.has(recased)) return recased
  }
  return prefix.slice(0, 2) + String.fromCharCode((prefix.charCodeAt(2) + 1) & 127)
}

function recase(prefix: string, capitals: number): string {
  return Array.from({ length: 3 }, (_, i) => {
    const letter = prefix.charAt(i)
    return capitals & (1 << i) ? letter.toUpperCase() : letter.toLowerCase()
  }).join('')
}

function numberedPrefix(taken: ReadonlySet<string>): string {
  for (let number = 0; ; number++) {
    const prefix = `t${number.toString(36).padStart(2, '0')}`
    if (!taken.has(prefix)) return prefix
  }
}
