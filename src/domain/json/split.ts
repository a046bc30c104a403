import { SatchelError } from '../value/error'
import { describePosition, type Position } from '../value/position'
import { decodeUtf8, notJson, parseJson } from './scan'
import { createTokenizer, Unexpected } from './token'

/** A value of a JSON file, not parsed yet, and the line and column (in bytes) it begins at. */
export interface JsonPart extends Position {
  /** Keys and positions that lead to it. */
  readonly path: readonly string[]
  readonly text: string
}

export interface SplitRules {
  /** The name of the file in a refusal. */
  readonly name: string
  /** Whether to split the container at `path`, which is only lent; if not, it comes whole. */
  enters(path: readonly string[], kind: 'array' | 'object'): boolean
  /** The greatest part, in bytes; 16 MiB unless given. */
  readonly maxBytes?: number
}

/**
 * Splits a JSON file of any size into parts, in constant memory: an import file (protocol.md §9.4)
 * into its objects, an array into its elements. Containers it enters are read to the letter, parts
 * only as far as their end: `parseJson` is for them. Throws `INVALID_REQUEST` with line and column,
 * `PAYLOAD_TOO_LARGE` for a part that is too great.
 */
export async function* splitJson(
  source: AsyncIterable<Uint8Array>,
  rules: SplitRules,
): AsyncGenerator<JsonPart, void, undefined> {
  const { name, maxBytes = 16 * 2 ** 20 } = rules
  const parts: JsonPart[] = []
  const tokenizer = createTokenizer({
    enters: (path, kind) => rules.enters(path, kind),
    key: (bytes, start) => parseJson(bytes, KEY_LIMITS, { name, start }) as string,
    part(path, bytes, start) {
      const { line, column } = start
      parts.push({ path: path.slice(), text: decodeUtf8(bytes, { name, start }), line, column })
    },
    grown(token) {
      if (token.size <= maxBytes) return
      throw new SatchelError(
        'PAYLOAD_TOO_LARGE',
        `${name} has a value of more than ${maxBytes} bytes at ${describePosition(token)}`,
      )
    },
  })
  for await (const chunk of source) {
    naming(name, () => tokenizer.write(chunk))
    yield* parts.splice(0)
  }
  naming(name, () => tokenizer.end())
  yield* parts
}

const KEY_LIMITS = { depth: 0, values: 1 }

/** Runs a step of the tokenizer; the refusal of what it does not expect names the file. */
function naming(name: string, step: () => void): void {
  try {
    step()
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    throw notJson(name, error)
  }
}
