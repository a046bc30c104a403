/** In ms. */
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The number of the minute that a time is in. */
export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE)
}

/**
 * Milliseconds of a stored Date, `{"$t":"Date","v":"…"}`; undefined when the value is no Date, an
 * invalid one, or one that would be another time in another time zone (protocol.md §1.2).
 */
export function timeOfDate(value: object): number | undefined {
  if (!Object.hasOwn(value, '$t') || !Object.hasOwn(value, 'v')) return undefined
  const { $t: type, v: text } = value as { $t: unknown; v: unknown }
  return type === 'Date' && typeof text === 'string' ? timeOfText(text) : undefined
}

/**
 * Milliseconds of an ISO 8601 text; undefined when it is none, or another time in another time
 * zone.
 */
export function timeOfText(text: string): number | undefined {
  if (!ISO_DATE.test(text)) return undefined
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}

/** True for a date, or a date and a time, of ISO 8601 that every JavaScript engine reads. */
export function isIsoText(text: string): boolean {
  return ISO.test(text) && !Number.isNaN(Date.parse(text))
}

/** Milliseconds of a text that is what `toISOString` makes of them, else undefined. */
export function timeOfIsoText(text: string): number | undefined {
  if (!ISO_TEXT.test(text)) return undefined
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text ? time : undefined
}

const ISO_DATE =
  /^(?:\d{4}|[+-]\d{6})-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/
const ISO_TEXT = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ISO =
  /^(?:\d{4}|[+-]\d{6})(?:-\d\d(?:-\d\d)?)?(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/
