/** The text with each of these UTF-16 units as JSON escapes it: `\u00ad`. */
export function escapeUnits(text: string, units: RegExp): string {
  return text.replaceAll(units, escapeUnit)
}

/** JSON on one line without the control characters that `JSON.stringify` leaves as they are. */
export function printableJson(
  value: unknown,
  replacer?: (key: string, member: unknown) => unknown,
): string {
  return escapeUnits(JSON.stringify(value, replacer), UNPRINTABLE)
}

/** The value of a text of JSON; undefined for any other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029]/g

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
