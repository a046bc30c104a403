import {
  batchTexts,
  crowdedCountries,
  crowdedCountry,
  freshStamp,
  itemKey,
  itemText,
  largeTableKey,
  loneCountry,
  members,
  pageItems,
  readerItems,
  writerRealms,
} from './rows'
import { tokenRequest, type Client } from './satchel'
import type { Load } from './wrk'

type Requests = Omit<Load, 'token'>

/** One of the reader's 10,000 objects. */
export function points(): Requests {
  return gets(readerItems, (index) => `/main/my/items/${largeTableKey(index)}`)
}

/** A country that one object has. */
export function loneCountries(): Requests {
  return gets(readerItems, (index) => `/main/all/items?country=${loneCountry(index)}`)
}

/** A country that a thousand objects have. */
export function crowds(rows: number): Requests {
  return gets(crowdedCountries(rows), (index) => `/main/all/items?country=${crowdedCountry(index)}`)
}

/** The first thirty objects of a country that a member of 1,000 realms may see. */
export function pages(rows: number): Requests {
  return gets(
    crowdedCountries(rows),
    (index) => `/main/my/items?country=${crowdedCountry(index)}&$limit=${pageItems}`,
  )
}

export function list(path: string): Requests {
  return gets(1, () => `/main${path}`)
}

/** A new object in one of the writer's 50 realms. */
export function singleObjects(): Requests {
  const bodies = writerRealms.map((_, index) => objectText(freshStamp, index))
  return { method: 'POST', requests: bodies.map((body) => ({ path: '/main/my/items', body })) }
}

/**
 * A thousand new objects spread over realms. With 64 connections the answers of a program that
 * stores one batch after the other come in lumps of a second, too coarse for a round.
 */
export function batches(realms: readonly string[]): Requests {
  const body = `[${batchTexts(1000, realms, freshStamp).join(',')}]`
  return { method: 'POST', requests: [{ path: '/main/all/items', body }], connections: 8 }
}

export function tokens(client: Client): Requests {
  const body = JSON.stringify(tokenRequest(client, 'reader'))
  return { method: 'POST', requests: [{ path: '/main/token', body }] }
}

/** An object of the writer's in one of the 50 realms. */
export function objectText(stamp: string, number: number): string {
  const realmId = writerRealms[number % writerRealms.length] ?? ''
  const country = crowdedCountry(number % 200)
  const owner = members.writer.userId
  return itemText(
    { id: itemKey(stamp, number), realmId, owner, country, rank: number % 10 },
    number,
  )
}

/** The stamp of keys that are not made by the load generator. */
export function paceStamp(round: number): string {
  return `pace${String(round).padStart(8, '0')}`
}

function gets(count: number, path: (index: number) => string): Requests {
  const requests = Array.from({ length: count }, (_, index) => ({ path: path(index) }))
  return { method: 'GET', requests }
}
