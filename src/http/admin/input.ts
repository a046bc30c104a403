import { JSON_LIMITS, parseJson } from '../../domain/json/scan'
import { SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'
import type { Visit } from './parts'

/** The input of an operation may hold an object with its largest value, in bytes. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024
/** Anybody may send the body of a login, in bytes. */
const MAX_LOGIN_BYTES = 4 * 1024

type Input = Readonly<Record<string, unknown>>

/** The body, a JSON object. Throws `INVALID_REQUEST`, `UNPROCESSABLE` and `PAYLOAD_TOO_LARGE`. */
export function readInput(visit: Visit): Promise<Input> {
  return readObject(visit, MAX_INPUT_BYTES)
}

/** The body of a login. Throws the same. */
export function readLogin(visit: Visit): Promise<Input> {
  return readObject(visit, MAX_LOGIN_BYTES)
}

/** The parameter `input` of an upload. Throws the same. */
export function inputOfQuery({ call }: Visit): Input {
  return parseObject(new URLSearchParams(call.query).get('input') ?? '{}')
}

async function readObject({ http, call }: Visit, most: number): Promise<Input> {
  return parseObject(await http.bodies.text(call.sent, most))
}

function parseObject(text: string): Input {
  const value = parseJson(text === '' ? '{}' : text, JSON_LIMITS)
  if (isRecord(value)) return value
  throw new SatchelError('INVALID_REQUEST', 'The body must be a JSON object')
}

/** Throws `INVALID_REQUEST` unless the property is a text. */
export function requireText(input: Input, name: string): string {
  const value = input[name]
  if (typeof value === 'string' && value !== '') return value
  throw new SatchelError('INVALID_REQUEST', `${name} must be a non-empty string`)
}
