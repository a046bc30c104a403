import { blobsIn, mentionsBlobs } from '../domain/blob/refs'
import { parseStored } from '../domain/value/value'
import type { Connection } from './connection'
import { objectTable } from './object-table'

/**
 * Notes which blobs the objects reference that were there before references were noted: SQL cannot
 * tell. One table after the other, all of it or none; nobody uses the database yet.
 */
export function readBlobRefs(connection: Connection): void {
  const next = connection.prepare<{ number: number }>('SELECT number FROM unread_tables LIMIT 1')
  for (let table = next.get(); table !== null; table = next.get())
    readTable(connection, table.number)
}

function readTable({ db, prepare }: Connection, number: number): void {
  const objects = prepare<{ seq: number; realm: number; value: string }>(
    `SELECT seq, realm, value FROM ${objectTable(number)} WHERE instr(value, '"_bt":') > 0`,
  )
  const note = prepare(
    'INSERT INTO blob_refs (blob, realm, seq, table_number) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  db.run('BEGIN IMMEDIATE')
  try {
    for (const { seq, realm, value } of objects.iterate()) {
      if (!mentionsBlobs(value)) continue
      for (const blob of blobsIn(parseStored(value))) note.run(blob, realm, seq, number)
    }
    prepare('DELETE FROM unread_tables WHERE number = ?').run(number)
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}
