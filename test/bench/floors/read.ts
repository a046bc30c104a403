import type { Database } from 'bun:sqlite'

import { joinerRealms, listerRealms, pageItems } from '../rows'
import { indexKey, openDatabase, tables } from './database'
import type { Floor } from './floor'

interface Row {
  readonly seq: number
  readonly value: string
}

/** One object by its key. */
export const pointFloor: Floor = ({ file, init }) => {
  const find = openDatabase(file).prepare<Row, [string]>(
    `SELECT value FROM o_${tables.items} WHERE key = ?`,
  )
  return {
    '/main/my/items/:key': (request) =>
      new Response(find.get(request.params['key'] ?? '')?.value, init),
  }
}

/** The objects in the lister's realms, through the realm index. */
export const realmsFloor: Floor = ({ file, init }) => {
  const database = openDatabase(file)
  const realms = numbersOf(database, listerRealms)
  const list = database.prepare<Row, []>(
    `SELECT value FROM o_${tables.items} INDEXED BY o_${tables.items}_realm
     WHERE realm IN (${realms.join(', ')}) ORDER BY seq`,
  )
  return { '/main/my/items': () => new Response(joined(list.all()), init) }
}

/** A whole table that fits into one chunk. */
export const smallListFloor: Floor = ({ file, init }) => {
  const list = openDatabase(file).prepare<Row, []>(
    `SELECT value FROM o_${tables.thousand} ORDER BY seq`,
  )
  return { '/main/all/thousand': () => new Response(joined(list.all()), init) }
}

/** A table of any size in chunks of 1,000 rows (170 KB), each read when the client took the last. */
export const streamFloor: Floor = ({ file, init }) => {
  const nextChunk = openDatabase(file).prepare<Row, [number]>(
    `SELECT seq, value FROM o_${tables.items} WHERE seq > ? ORDER BY seq LIMIT 1000`,
  )
  const utf8 = new TextEncoder()
  const stream = () => {
    let after = 0
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const rows = nextChunk.all(after)
        const last = rows.at(-1)
        if (last === undefined) {
          controller.enqueue(utf8.encode(']'))
          controller.close()
          return
        }
        const text = rows.map(({ value }) => value).join(',')
        controller.enqueue(utf8.encode((after === 0 ? '[' : ',') + text))
        after = last.seq
      },
    })
  }
  return { '/main/all/items': () => new Response(stream(), init) }
}

/** The objects whose country is the one in the query, through the index entries. */
export const filterFloor: Floor = ({ file, init }) => {
  const list = openDatabase(file).prepare<Row, [Uint8Array]>(
    `SELECT value FROM index_entries JOIN o_${tables.items} USING (seq)
     WHERE index_id = 1 AND index_entries.key = ?`,
  )
  return {
    '/main/all/items': ({ url }) =>
      new Response(joined(list.all(indexKey(url.slice(url.indexOf('=') + 1)))), init),
  }
}

/** The first objects of a country in the joiner's realms, found through the index entries. */
export const pageFloor: Floor = ({ file, init }) => {
  const database = openDatabase(file)
  const realms = new Set(numbersOf(database, joinerRealms))
  const list = database.prepare<Row & { realm: number }, [Uint8Array]>(
    `SELECT o.seq, realm, value FROM index_entries JOIN o_${tables.items} AS o USING (seq)
     WHERE index_id = 1 AND index_entries.key = ? ORDER BY seq`,
  )
  const pageOf = (country: string) => {
    const page: Row[] = []
    for (const row of list.iterate(indexKey(country))) {
      if (realms.has(row.realm) && page.push(row) === pageItems) break
    }
    return page
  }
  return {
    '/main/my/items': ({ url }) =>
      new Response(joined(pageOf(url.slice(url.indexOf('=') + 1, url.indexOf('&')))), init),
  }
}

function numbersOf(database: Database, realms: readonly string[]): number[] {
  return database
    .prepare<{ number: number }, string[]>(
      `SELECT number FROM realm_ids WHERE id IN (${realms.map(() => '?').join(', ')})`,
    )
    .all(...realms)
    .map(({ number }) => number)
}

function joined(rows: readonly Row[]): string {
  return `[${rows.map(({ value }) => value).join(',')}]`
}
