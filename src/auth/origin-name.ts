import { applicationNames, listOrigins } from '../domain/database/origin'
import type { ReadTx } from '../domain/store/store'
import { isWeb } from '../domain/value/web-address'

/** The name of the requesting page in a mail. */
export interface OriginName {
  readonly originName: string
  /** The address of that page for links, or empty. */
  readonly origin: string
}

/**
 * Names the page with this allowed `Origin` header by its host, or by the listed Electron application
 * (protocol.md §11). Without a page it is named after the database.
 */
export function describeOrigin(
  tx: ReadTx,
  origin: string | null,
  databaseName: string,
): OriginName {
  const url = origin === null ? null : URL.parse(origin)
  if (url === null || !isWeb(url)) {
    const listed = origin === null ? [] : tx.remember('origins', () => listOrigins(tx))
    const name = applicationNames(listed).join(', ')
    return { originName: name || databaseName, origin: '' }
  }
  return { originName: url.host, origin: url.origin }
}
