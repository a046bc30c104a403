import { JSON_LIMITS, parseJson } from '../../domain/json/scan'
import { SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'
import { type Bodies, createBodies } from '../body/body'
import type { HttpContext } from '../context'
import type { AdmittedOperation, Visit } from './parts'

/** The input of an operation may hold an object with its largest value, in bytes. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024
/** An operation that follows keeps its input as long as it goes on, in bytes. */
const MAX_FOLLOWING_INPUT_BYTES = 4 * 1024
/** A ticket, which may hold a mail template, is kept until it is used, in bytes. */
const MAX_TICKET_BYTES = 256 * 1024
/** Anybody may send the body of a login, in bytes. */
const MAX_LOGIN_BYTES = 4 * 1024

type Input = Readonly<Record<string, unknown>>

/** The inputs of operations, whose memory is counted apart from that of other bodies. */
export interface Inputs {
  /**
   * Calls `answer` with the body, a JSON object, whose memory is reserved until `finished` is called, or `answer`
   * throws. Throws `INVALID_REQUEST`, `UNPROCESSABLE`, `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` and `BUSY`.
   */
  read(
    visit: Visit,
    operation: Pick<AdmittedOperation, 'follows' | 'maxInputBytes'>,
    answer: (input: Input, finished: () => void) => Promise<Response>,
  ): Promise<Response>
}

export function createInputs(): Inputs {
  let bodies: Bodies | undefined

  function open({ writeLimits, blobs, ledger }: HttpContext): Bodies {
    const { maxDepth, maxProperties: properties } = writeLimits
    // The object is a property of the input.
    const limits = { ...JSON_LIMITS, bytes: MAX_INPUT_BYTES, depth: maxDepth + 1, properties }
    const { timeout } = blobs
    return createBodies(limits, { advice: ADVICE, timeout, ledger, name: 'inputs of the page' })
  }

  return {
    read({ http, call }, { follows, maxInputBytes = MAX_INPUT_BYTES }, answer) {
      const { promise, resolve, reject } = Promise.withResolvers<Response>()
      async function work(body: unknown): Promise<void> {
        const over = Promise.withResolvers<void>()
        resolve(await answer(requireObject(body), over.resolve))
        await over.promise
      }
      bodies ??= open(http)
      const maxBytes = follows ? MAX_FOLLOWING_INPUT_BYTES : maxInputBytes
      bodies.json(call, { maxBytes }, work).catch(reject)
      return promise
    },
  }
}

const ADVICE = 'write less at once'

/** The body of a download that may begin. Throws the same. */
export function readTicket(visit: Visit): Promise<Input> {
  return readObject(visit, MAX_TICKET_BYTES)
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
  return requireObject(parseJson(text === '' ? '{}' : text, JSON_LIMITS))
}

function requireObject(value: unknown): Input {
  if (isRecord(value)) return value
  throw new SatchelError('INVALID_REQUEST', 'The body must be a JSON object')
}

/** Throws `INVALID_REQUEST` unless the property is a text. */
export function requireText(input: Input, name: string): string {
  const value = input[name]
  if (typeof value === 'string' && value !== '') return value
  throw new SatchelError('INVALID_REQUEST', `${name} must be a non-empty string`)
}
