import type { Database } from 'bun:sqlite'

import { indexKey, tables } from './database'

/** The properties that a floor reads before it stores the text. */
type StoredObject = Record<string, unknown> & { id: string; realmId: string; owner: string }

/** Parses one object or an array of them, as the caller knows which it sent. */
export function parseObjects(body: string): StoredObject[] {
  return JSON.parse(body) as StoredObject[]
}

export function parseObject(body: string): StoredObject {
  return JSON.parse(body) as StoredObject
}

/**
 * Kept statements that insert objects with an entry for every index.
 * Returns a function from an object and the revision of its unit to the text that was stored.
 */
export function prepareInsert(
  database: Database,
  table: keyof typeof tables,
  indexes: readonly string[],
): (object: StoredObject, revision: number) => string {
  const insertRow = database.prepare(
    `INSERT INTO o_${tables[table]} (seq, key, realm, owner, revision, entered, updated_at, value)
     VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)`,
  )
  const insertEntry = database.prepare(
    'INSERT INTO index_entries (index_id, key, seq) VALUES (?, ?, ?)',
  )
  const putRealm = database.prepare<{ number: number }, [string]>(
    'INSERT INTO realm_ids (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET id = id RETURNING number',
  )
  const realms = new Map<string, number>()
  let seq = 0

  return (object, revision) => {
    const realm = realms.get(object.realmId) ?? putRealm.get(object.realmId)?.number ?? 0
    realms.set(object.realmId, realm)
    const value = JSON.stringify(object)
    seq += 1
    insertRow.run(seq, object.id, realm, object.owner, revision, Date.now(), value)
    for (const [index, property] of indexes.entries()) {
      insertEntry.run(index + 1, indexKey(object[property]), seq)
    }
    return value
  }
}
