import { rowOf } from '../domain/object/writing'
import { SatchelError } from '../domain/value/error'
import type { Rejection } from '../host/live-event'
import { STATUS } from '../openapi/status'
import { type Call, segment } from './call'
import type { HttpContext } from './context'
import { isTableAddress, isViewName } from './routes/objects'

/**
 * Tells followers of a database that a call was refused, if it would have written objects. `shown` is what the caller
 * sees of `error`.
 */
export function tellRefusedWrite(
  { live }: Pick<HttpContext, 'live'>,
  call: Call,
  error: unknown,
  shown: SatchelError,
): void {
  if (!WRITES.has(call.method)) return
  const { code, message, reason: rule = null } = shown
  const key = error instanceof SatchelError ? rowOf(error)?.key : undefined
  live.rejected(call.segments[1] ?? '', () => {
    const target = targetOf(call, shown)
    if (target === undefined) return undefined
    const { subject } = call
    const named = key === undefined ? target : { ...target, key: cut(key) }
    const refused = { subject, device: null, txid: null, ...named, code, rule, message }
    return { first: [refused], count: 1 }
  })
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** What a call would have written; undefined: no objects. */
function targetOf(
  call: Call,
  { code }: SatchelError,
): Pick<Rejection, 'door' | 'table' | 'key'> | undefined {
  const { segments, path } = call
  const [, , first = ''] = segments
  if (first === 'sync') {
    return isForChanges(code) ? { door: 'sync', table: null, key: null } : undefined
  }
  const place = isViewName(first) ? 2 : 1
  if (place === 1 && !isTableAddress(path)) return undefined
  return { door: 'rest', table: partOf(call, place) ?? '', key: partOf(call, place + 1) }
}

/** False for refusals that a sync without changes gets too, and which clients repeat by themselves. */
function isForChanges(code: SatchelError['code']): boolean {
  const status = STATUS[code]
  return status !== 401 && status !== 429 && status < 500
}

/** A decoded part of the path; as it came where its escapes are malformed, null where there is none. */
function partOf(call: Call, place: number): string | null {
  const raw = call.segments[place + 1]
  if (raw === undefined || raw === '') return null
  try {
    return cut(segment(call, place))
  } catch {
    return cut(raw)
  }
}

const MOST_CHARACTERS = 200

function cut(text: string): string {
  return text.slice(0, MOST_CHARACTERS)
}
