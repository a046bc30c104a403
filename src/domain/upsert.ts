import { accessOf } from './access'
import type { Actor } from './actor'
import { type Draft, asPrivate, draftOf } from './draft'
import { SatchelError, quoted } from './error'
import { putDrafts } from './put'
import { PUBLIC_REALM } from './realm'
import { ROW_RULES } from './row-rules'
import type { Database } from './store'
import { type Table, requireTable } from './table'
import type { ViewName } from './view'
import type { Writing } from './writing'

/** What an upsert is made of. The caller has checked the scopes of the view. */
export interface Upsert {
  readonly actor: Actor
  readonly view: ViewName
  readonly table: string
  readonly objects: readonly unknown[]
  /** False for a request with a single object: error paths then name no position. */
  readonly isArray: boolean
  /** ms since the epoch. */
  readonly now: number
}

/**
 * Creates or replaces each object by its primary key, all in one unit (spec.md §4.1, design.md §5).
 * Resolves to the stored texts in the order of the request. Throws `UNKNOWN_TABLE`,
 * `UNPROCESSABLE`, `UNKNOWN_REALM`, `CONFLICT` or `NOT_AUTHORIZED` with the missing permission.
 */
export async function upsertObjects(database: Database, upsert: Upsert): Promise<string[]> {
  const { actor } = upsert
  const subject = actor.subject ?? ''
  const { table, drafts } = await database.read(async (tx) => {
    await accessOf(tx, actor)
    const found = await requireTable(tx, upsert.table)
    return { table: found, drafts: readDrafts(found, upsert, subject) }
  })
  return database.write(async (tx) => {
    const current = await requireTable(tx, upsert.table)
    if (current.primaryKey?.join() !== table.primaryKey?.join()) {
      throw new SatchelError('CONFLICT', 'The schema changed meanwhile: repeat the request')
    }
    const writing: Writing = {
      tx,
      actor,
      subject,
      isGlobal: actor.scopes.has('GLOBAL_WRITE'),
      view: upsert.view,
      table: current,
      access: await accessOf(tx, actor),
      now: upsert.now,
    }
    return putDrafts(writing, drafts)
  })
}

function readDrafts(table: Table, { view, objects, isArray }: Upsert, subject: string): Draft[] {
  if (table.primaryKey === null) {
    throw new SatchelError(
      'UNPROCESSABLE',
      `The primary key of ${quoted(table.name)} is not known yet: push the schema first (satchel schema push)`,
    )
  }
  const rules = ROW_RULES.get(table.name)
  if (view === 'public' && table.name === 'realms') {
    throw new SatchelError('UNPROCESSABLE', 'A realm is not in the public realm: use /my or /all')
  }
  return objects.map((object, position) => {
    const raw = draftOf(table, object, isArray ? position : undefined)
    const draft = rules === undefined ? inView(view, table, raw, subject) : rules.complete(raw)
    if (view === 'all' && draft.realmId === undefined && table.name !== 'realms') {
      throw new SatchelError(
        'UNPROCESSABLE',
        `"realmId" is missing: every object of POST /all/${table.name} needs one`,
        { reason: 'realmId' },
      )
    }
    if (view === 'public' && draft.realmId !== undefined && draft.realmId !== PUBLIC_REALM) {
      throw new SatchelError(
        'UNPROCESSABLE',
        `"realmId" is not ${PUBLIC_REALM}: POST /public writes only there, use /my or /all`,
        { reason: 'realmId' },
      )
    }
    return draft
  })
}

function inView(view: ViewName, table: Table, draft: Draft, subject: string): Draft {
  return view === 'my' ? asPrivate(table, draft, subject) : draft
}
