/**
 * A part of an address as text that `decodePart` reads again: any string may be a key of an object, also one with
 * halves of surrogate pairs, which `encodeURIComponent` refuses.
 */
export function encodePart(text: string): string {
  const wellFormed = text.replaceAll(
    /[~\ud800-\udfff]/gu,
    (sign) => `~${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return encodeURIComponent(wellFormed)
}

/** Text that is no encoded part is returned as it is. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll(/~([0-9a-f]{4})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
  } catch {
    return part
  }
}

/** A place of the page: `#/shop/data/todoItems/milk`. */
export interface Place {
  /** Empty where no database is chosen. */
  readonly database: string
  readonly page: string
  /** The parts after the page, such as a table and a key. */
  readonly rest: readonly string[]
}

export function readHash(hash: string): Place {
  const [, database = '', page = '', ...rest] = hash.replace(/^#/, '').split('/')
  return {
    database: decodePart(database),
    page: decodePart(page),
    rest: rest.filter((part) => part !== '').map(decodePart),
  }
}

export function writeHash({ database, page, rest }: Place): string {
  return `#/${[database, page, ...rest].map(encodePart).join('/')}`
}
