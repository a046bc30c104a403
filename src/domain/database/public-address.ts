import { unprocessable } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import { serverAddressOf } from '../value/web-address'

/**
 * The public address of a database; undefined if it has none of its own and uses that of its server
 * (design.md §2).
 */
export function findPublicAddress(tx: ReadTx): string | undefined {
  const kept = tx.remember('public address', () => tx.settings.find(SETTING))
  return typeof kept?.value['url'] === 'string' ? kept.value['url'] : undefined
}

/** Null removes it. Returns the stored form. Throws `UNPROCESSABLE`. */
export function setPublicAddress(tx: WriteTx, text: string | null): string | null {
  if (text === null) {
    tx.settings.remove(SETTING)
    return null
  }
  const url = serverAddressOf(text)
  if (url === undefined) {
    throw unprocessable(
      'A public address is an http(s) address without a query, such as https://db.example.com/main',
    )
  }
  tx.settings.put({ id: SETTING, value: { url } })
  return url
}

const SETTING = 'public-address'
