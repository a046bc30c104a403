import { invalidRequest } from './error'

/**
 * Decodes the percent-escapes of a path segment or of a part of a query. Throws `INVALID_REQUEST`
 * for escapes that are malformed or not UTF-8, which would otherwise stand for something else.
 */
export function decodePercent(raw: string): string {
  if (!raw.includes('%') && raw.isWellFormed()) return raw
  try {
    const text = decodeURIComponent(raw)
    if (text.isWellFormed()) return text
  } catch {
    // Refused below, like an address that is not well-formed.
  }
  throw invalidRequest('The address has malformed percent-escapes')
}
