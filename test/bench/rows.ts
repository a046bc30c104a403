/** The length of every object as canonical text, in bytes (design.md §7). */
export const objectBytes = 170

/** Stands in a key until the load generator puts a number there that was never used before. */
export const freshStamp = '@'.repeat(12)

export const readerRealm = 'rlmreader'
export const readerItems = 10_000
export const listerRealms = ['lister@bench.test', 'rlmlister1', 'rlmlister2', 'rlmlister3']
export const listerItems = 100
export const pageItems = 30
/** The joiner is a member of all of these. */
export const joinerRealms = Array.from({ length: 1000 }, (_, index) => `rlmjoiner${pad(index, 3)}`)
export const writerRealms = Array.from({ length: 50 }, (_, index) => `rlmwriter${pad(index, 2)}`)

/** The users a token is issued for. Each is a member of the realms beside it, with every right. */
export const members = {
  reader: { userId: 'reader@bench.test', realms: [readerRealm] },
  lister: { userId: 'lister@bench.test', realms: listerRealms.slice(1) },
  writer: { userId: 'writer@bench.test', realms: writerRealms },
  joiner: { userId: 'joiner@bench.test', realms: joinerRealms },
}

export interface Item {
  readonly id: string
  readonly realmId: string
  readonly owner: string
  readonly country: string
  readonly rank: number
  readonly title: string
}

/** The text of an object of exactly `objectBytes` bytes, filled up in its title. */
export function itemText(item: Omit<Item, 'title'>, seed: number): string {
  const word = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  const bare = JSON.stringify({ ...item, title: '' })
  const title = word.toString(36).padEnd(objectBytes - bare.length, ' water the plants, lock up')
  const text = JSON.stringify({ ...item, title })
  if (text.length !== objectBytes) throw new Error(`An object of ${text.length} bytes: ${text}`)
  return text
}

/** A key whose order is the order of creation, as the clients' ids are (protocol.md §10.2). */
export function itemKey(stamp: string, index: number): string {
  return `itm${stamp}${pad(index, 12)}`
}

/** The key of object `index` of the large table. */
export function largeTableKey(index: number): string {
  return itemKey(pad(0, 12), index)
}

/**
 * Object `index` of the large table of `rows` objects: the first 10,000 belong to the reader's
 * realm and have a country each; the lister sees 100 spread over the rest; of every country of the
 * rest, with 1,000 objects each, a tenth lies in the realms of the joiner, and the remaining ones lie
 * in the private realms of a thousand other users.
 */
export function largeTableText(index: number, rows: number): string {
  const id = largeTableKey(index)
  if (index < readerItems) {
    const country = loneCountry(index)
    const owner = members.reader.userId
    return itemText({ id, realmId: readerRealm, owner, country, rank: index % 10 }, index)
  }
  const country = crowdedCountry(index % crowdedCountries(rows))
  const step = Math.floor((rows - readerItems) / listerItems)
  const place = index - readerItems
  if (place % step === 0 && place / step < listerItems) {
    const realmId = listerRealms[(place / step) % listerRealms.length] ?? ''
    return itemText({ id, realmId, owner: members.lister.userId, country, rank: index % 10 }, index)
  }
  const owner = `user${pad(index % 1000, 4)}@bench.test`
  const isJoined = Math.floor(index / crowdedCountries(rows)) % 10 === 7
  const realmId = isJoined ? (joinerRealms[index % joinerRealms.length] ?? '') : owner
  return itemText({ id, realmId, owner, country, rank: index % 10 }, index)
}

/** A country that exactly one object has, from 0 to 9,999. */
export function loneCountry(number: number): string {
  return `l${pad(number, 4)}`
}

/** A country that a thousand objects have, from 0 to `crowdedCountries(rows) - 1`. */
export function crowdedCountry(number: number): string {
  return `c${pad(number, 4)}`
}

export function crowdedCountries(rows: number): number {
  return (rows - readerItems) / 1000
}

/** A batch of new objects whose keys carry `stamp`, spread over `realms`. */
export function batchTexts(count: number, realms: readonly string[], stamp: string): string[] {
  return Array.from({ length: count }, (_, index) => {
    const realmId = realms[index % realms.length] ?? ''
    const country = crowdedCountry(index % 200)
    const id = itemKey(stamp, index)
    return itemText({ id, realmId, owner: members.writer.userId, country, rank: index % 10 }, index)
  })
}

function pad(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
