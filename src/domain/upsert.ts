import { accessOf } from './access'
import type { Actor } from './actor'
import { authorizePut, refuseRealm } from './authorize'
import { type Draft, asPrivate, draftOf, withFields } from './draft'
import { SatchelError, quoted } from './error'
import { keepingFullRights } from './full-rights'
import { entriesOf, storedEntries } from './index-entries'
import { PUBLIC_REALM, PUBLIC_REALM_REF, type Realm } from './realm'
import { requireFreshRealm } from './realm-rows'
import { ROW_RULES } from './row-rules'
import type { Database, ObjectPut, StoredObject, WriteTx } from './store'
import { type Table, requireTable } from './table'
import { requireUserId } from './user'
import type { ViewName } from './view'
import { type Placement, type RowRules, type Writing } from './writing'

/** Objects of ordinary tables are looked up and written this many at a time. */
const BATCH = 500

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
    const rules = ROW_RULES.get(current.name)
    return rules === undefined ? putAll(writing, drafts) : putRows(writing, rules, drafts)
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

/** Objects of ordinary tables do not change who may do what: they go in batches. */
async function putAll(writing: Writing, drafts: readonly Draft[]): Promise<string[]> {
  const { tx, table, now } = writing
  const texts: string[] = []
  for (let start = 0; start < drafts.length;) {
    const batch = takeBatch(drafts, start)
    start += batch.length
    const known = batch.flatMap(({ key }) => (key === undefined ? [] : [key]))
    const existing = await tx.objects.findMany(table, known)
    const puts: ObjectPut[] = []
    for (const draft of batch) {
      const previous = draft.key === undefined ? undefined : existing.get(draft.key)
      const placement = await place(writing, draft, previous)
      if (!writing.isGlobal) authorizePut(writing, placement)
      puts.push(putOf(table, placement))
      texts.push(placement.draft.text)
    }
    await tx.objects.put(table, puts, now)
    await tx.breathe()
  }
  return texts
}

/** As many drafts as a batch holds, and no key twice: the second one replaces the first. */
function takeBatch(drafts: readonly Draft[], start: number): Draft[] {
  const batch: Draft[] = []
  const keys = new Set<string>()
  for (let position = start; position < drafts.length && batch.length < BATCH; position += 1) {
    const draft = drafts[position]
    if (draft === undefined || (draft.key !== undefined && keys.has(draft.key))) break
    if (draft.key !== undefined) keys.add(draft.key)
    batch.push(draft)
  }
  return batch
}

/** Each row may change what the next one is allowed to do. */
async function putRows(
  given: Writing,
  rules: RowRules,
  drafts: readonly Draft[],
): Promise<string[]> {
  const { tx, table, now } = given
  const texts: string[] = []
  for (const draft of drafts) {
    const writing = { ...given, access: await accessOf(tx, given.actor) }
    const previous = draft.key === undefined ? undefined : await tx.objects.find(table, draft.key)
    const candidate = await place(writing, draft, previous)
    const placement = writing.isGlobal ? candidate : await rules.authorizePut(writing, candidate)
    if (placement === undefined) {
      texts.push(previous?.value ?? draft.text)
      continue
    }
    await keepingFullRights(writing, previous?.realm ?? placement.realm.ref, async () => {
      await tx.objects.put(table, [putOf(table, placement)], now)
      await rules.afterPut(writing, placement)
    })
    texts.push(placement.draft.text)
    await tx.breathe()
  }
  return texts
}

function putOf(table: Table, { draft, key, realm, owner, previous }: Placement): ObjectPut {
  const put = {
    key,
    realm: realm.ref,
    owner,
    value: draft.text,
    entries: entriesOf(table, draft.object),
  }
  if (previous === undefined) return put
  return { ...put, previous, previousEntries: storedEntries(table, previous.value) }
}

/** Decides realm, owner and key of a draft and writes them into it (design.md §5.1). */
async function place(
  writing: Writing,
  draft: Draft,
  previous: StoredObject | undefined,
): Promise<Placement> {
  const { tx, table } = writing
  const realm = await realmFor(writing, draft, previous)
  const owner = draft.owner !== undefined ? draft.owner : defaultOwner(writing, realm, previous)
  const key = draft.key ?? newKey(tx, table, realm)
  const path = table.primaryKey?.[0] ?? ''
  const fields = { ...(draft.key === undefined ? { [path]: key } : {}), realmId: realm.id, owner }
  return { draft: withFields(draft, fields), key, realm, owner, previous }
}

function newKey(tx: WriteTx, table: Table, realm: Realm): string {
  // The id of a new realm is its own realm's.
  return table.name === 'realms' ? realm.id : tx.newId(table.idPrefix, realm.id)
}

function defaultOwner(
  writing: Writing,
  realm: Realm,
  previous: StoredObject | undefined,
): string | null {
  if (previous !== undefined) return previous.owner
  if (!realm.id.startsWith('rlm')) return realm.id
  return writing.isGlobal && writing.view !== 'my' ? null : writing.subject
}

async function realmFor(
  writing: Writing,
  draft: Draft,
  previous: StoredObject | undefined,
): Promise<Realm> {
  const { tx, table, view, subject, isGlobal } = writing
  if (view === 'public') {
    if (previous !== undefined && previous.realm !== PUBLIC_REALM_REF) {
      throw new SatchelError('CONFLICT', `An object of another realm has this key`)
    }
    return { ref: PUBLIC_REALM_REF, id: PUBLIC_REALM }
  }
  if (table.name === 'realms') return realmOfRow(writing, draft, previous)
  if (draft.realmId === undefined && previous !== undefined) {
    const unchanged = await tx.realms.findByRef(previous.realm)
    if (unchanged !== undefined) return unchanged
  }
  const id = draft.realmId ?? subject
  if (id === subject && !id.startsWith('rlm')) return tx.realms.ensure(id)
  if (!isGlobal) {
    const found = await tx.realms.find(id)
    if (found === undefined) throw refuseRealm()
    return found
  }
  if (!id.startsWith('rlm')) return tx.realms.ensure(requireUserId(id))
  const found = await tx.realms.find(id)
  if (found !== undefined) return found
  throw new SatchelError('UNKNOWN_REALM', `There is no realm ${quoted(id)}: create it first`, {
    reason: 'realmId',
  })
}

/** A row of `realms` lies in the realm that it is about, and brings it to life. */
async function realmOfRow(
  { tx, table, isGlobal, subject }: Writing,
  draft: Draft,
  previous: StoredObject | undefined,
): Promise<Realm> {
  if (previous !== undefined) {
    const realm = await tx.realms.findByRef(previous.realm)
    if (realm !== undefined) return realm
  }
  const id = draft.key ?? tx.newId(table.idPrefix, subject)
  if (!isGlobal) await requireFreshRealm(tx, id)
  return tx.realms.ensure(id)
}
