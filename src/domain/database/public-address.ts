import { SatchelError } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'

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
  const url = canonicalAddress(text)
  await tx.settings.put({ id: SETTING, value: { url } })
  return url
}

const SETTING = 'public-address'

function canonicalAddress(text: string): string {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url !== null && isWeb && `${url.username}${url.password}${url.search}${url.hash}` === '') {
    return url.href.replace(/\/+$/, '')
  }
  throw new SatchelError(
    'UNPROCESSABLE',
    'A public address is an http(s) address without a query, such as https://db.example.com/main',
  )
}
