import { SatchelError } from './error'
import type { ReadTx, WriteTx } from './store'

/** Where the outside world reaches a database, if it said so itself (design.md §2). */
export interface PublicAddress {
  readonly id: 'public'
  /** Without a slash at its end: `https://db.example.com/main`. */
  readonly url: string
}

/** The database's own address, or undefined when it is that of its server. */
export async function findPublicAddress(tx: ReadTx): Promise<string | undefined> {
  const kept = await tx.remember('public address', () => tx.publicAddress.find('public'))
  return kept?.url
}

/** Null takes it back. Returns it as it is kept. Throws `UNPROCESSABLE`. */
export async function setPublicAddress(tx: WriteTx, text: string | null): Promise<string | null> {
  if (text === null) {
    await tx.publicAddress.remove('public')
    return null
  }
  const url = canonicalAddress(text)
  await tx.publicAddress.put({ id: 'public', url })
  return url
}

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
