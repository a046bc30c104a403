import { SatchelError } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import { serverAddressOf } from '../value/web-address'

/**
 * Where the outside world reaches a database, if the database itself says so; undefined where its
 * server's word counts (design.md §2).
 */
export async function findPublicAddress(tx: ReadTx): Promise<string | undefined> {
  const kept = await tx.remember('public address', () => tx.settings.find(SETTING))
  return typeof kept?.value['url'] === 'string' ? kept.value['url'] : undefined
}

/** Null takes it back. Returns it as it is kept. Throws `UNPROCESSABLE`. */
export async function setPublicAddress(tx: WriteTx, text: string | null): Promise<string | null> {
  if (text === null) {
    await tx.settings.remove(SETTING)
    return null
  }
  const url = serverAddressOf(text)
  if (url === undefined) {
    throw new SatchelError(
      'UNPROCESSABLE',
      'A public address is an http(s) address without a query, such as https://db.example.com/main',
    )
  }
  await tx.settings.put({ id: SETTING, value: { url } })
  return url
}

const SETTING = 'public-address'
