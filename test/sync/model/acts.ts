import * as fc from 'fast-check'
import { indexedDB } from 'fake-indexeddb'
import type { Person, Value } from '../../access/oracle-world'
import { changed, type Device, type LocalOperation, type Modification, valueIn } from './device'

/** What users of one history do: every shape of operation of protocol.md §4.4. */

export const UNDEFINED = { $t: 'undefined' }

/** The names of one history, which no other one in the same database has. */
export interface Cast {
  readonly people: readonly [alice: Person, bob: Person, carol: Person]
  readonly team: string
  readonly side: string
  /** A realm in which everyone may count, and nothing else happens. */
  readonly counting: string
  /** The key of an object or of the counter, or the name of a device. */
  key(name: string): string
}

export function castOf(history: number, people: Cast['people'] = peopleOf(history)): Cast {
  return {
    people,
    team: `rlm-team${history}`,
    side: `rlm-side${history}`,
    counting: `rlm-counting${history}`,
    key: (name) => `${name}${history}`,
  }
}

function peopleOf(history: number): Cast['people'] {
  return [personAt(`alice${history}`), personAt(`bob${history}`), personAt(`carol${history}`)]
}

export function personAt(name: string, domain = 'example.com'): Person {
  const email = `${name}@${domain}`
  return { id: email, email }
}

const key = fc.constantFrom('a', 'b', 'c')
const listName = fc.constantFrom('x', 'y')
const number = fc.nat({ max: 9 })
const realm = fc.constantFrom('own' as const, 'team' as const, 'side' as const)
const shared = fc.constantFrom('team' as const, 'side' as const)
const who = fc.nat({ max: 2 })

/** A value that is not known before the operation is made. */
const TAG = { tag: true } as const
const TAGGED = { x: TAG, y: TAG } as const

const modification = (...them: readonly Modification[]) =>
  fc.constantFrom(...them.map((one) => ({ '@@propmod': one })))

/** A place that is not known before the operation is made. */
const PLACES = [{ place: 'own' }, { place: 'team' }, { place: 'side' }] as const

/** A path and what is written there. */
const write: fc.Arbitrary<[path: string, value: unknown]> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('title', 'deep.x', 'deep.y'), fc.constant(TAG)),
  },
  fc.tuple(fc.constant('n'), number),
  fc.tuple(fc.constant('deep'), fc.constantFrom(TAGGED, { x: TAG }, TAG)),
  fc.tuple(fc.constant('list'), listName),
  fc.tuple(fc.constantFrom('n', 'm'), modification({ add: 1 }, { remove: 1 })),
  fc.tuple(fc.constant('tags'), modification({ add: ['z'] }, { remove: ['z'] })),
  fc.tuple(fc.constant('list'), modification({ replacePrefix: ['x', 'y'] })),
  fc.tuple(fc.constantFrom('title', 'deep', 'deep.x', 'deep.x.z'), fc.constant(UNDEFINED)),
  fc.tuple(fc.constant('deep.x'), fc.constantFrom({ z: TAG }, { z: TAG, w: { v: 1 } })),
  fc.tuple(fc.constantFrom('deep.x.z', 'deep.x.w'), fc.constant(TAG)),
  fc.tuple(fc.constantFrom('deep.x.w.v', 'deep.m'), modification({ add: 1 }, { remove: 1 })),
  fc.tuple(fc.constant('realmId'), fc.constantFrom(...PLACES)),
)
const spec = fc
  .array(write, { minLength: 1, maxLength: 3 })
  .map((writes): Value => Object.fromEntries(writes))

const MAXIMUM = [[]]
const MINIMUM = { $t: 'number', v: '-Infinity' }
const ANY = { type: 3, lower: UNDEFINED, upper: UNDEFINED }
const only = (value: unknown) => ({ type: 1, lower: value, upper: value })
const everything = { index: UNDEFINED, range: ANY }
const criteria = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Given>(everything) },
  listName.map((one) => ({ index: 'list', range: only(one) })),
  fc.constant({ index: 'tags', range: only('z') }),
  fc.tuple(number, number, fc.boolean(), fc.boolean()).map(([one, other, lowerOpen, upperOpen]) => {
    const [lower, upper] = [Math.min(one, other), Math.max(one, other) + 1]
    return { index: 'n', range: { type: 2, lower, upper, lowerOpen, upperOpen } }
  }),
  fc.tuple(listName, number).map(([list, n]) => ({ index: '[list+n]', range: only([list, n]) })),
  listName.map((list) => {
    return { index: '[list+n]', range: { type: 2, lower: [list, MINIMUM], upper: [list, MAXIMUM] } }
  }),
  fc.constant({ index: 'deep.x', range: { type: 2, lower: 't', upper: 't\uffff' } }),
  number.map((lower) => ({ index: 'm', range: { type: 2, lower, upper: UNDEFINED } })),
)
const byKey = fc
  .constantFrom('a', 'b', 'c')
  .map((lower) => ({ index: null, range: { type: 2, lower, upper: 'c\uffff' } }))
const permissions = fc.constantFrom<Value>(
  { manage: '*' },
  { add: ['items'] },
  { update: { items: ['title', 'n', 'list'] } },
  {},
)

export const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('add' as const, 'put' as const, 'upsert' as const),
      key,
      realm,
      list: listName,
      n: number,
      spec,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      keys: fc.uniqueArray(key, { maxLength: 3 }),
      spec,
      isShared: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('modify' as const, 'modify' as const, 'deleteWhere' as const),
      criteria,
      spec,
      isChunked: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('deleteWhere' as const),
      criteria: byKey,
      spec,
      isChunked: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('move' as const), key, realm }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('note' as const), n: number }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('count' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('invite' as const, 'grant' as const, 'kick' as const),
      realm: shared,
      who,
      permissions,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('accept' as const, 'reject' as const),
      realm: shared,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('open' as const, 'close' as const) }),
  },
  // A realm is made, objects move there by criteria, and somebody is let in, in one transaction.
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('share' as const),
      criteria,
      who,
      permissions,
      isRealmLast: fc.boolean(),
    }),
  },
)

export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

/** The operations that a client logs for an act, which depend on what it shows. */
export function operationsOf(
  cast: Cast,
  one: Device,
  given: Act,
  tag: (path: string) => string,
): LocalOperation[] {
  const { person } = one
  const items = one.rowsOf('items')
  const placeOf = (name: Place) => (name === 'own' ? person.id : cast[name])
  const fill = (spec: Value) => filled(spec, tag, placeOf)
  switch (given.kind) {
    case 'add':
    case 'put':
    case 'upsert': {
      const { list, n } = given
      const id = cast.key(given.key)
      const old = items.get(id)
      const place = { owner: old?.['owner'] ?? person.id, realmId: placeOf(given.realm) }
      const made = { title: tag('title'), deep: { x: tag('deep'), y: tag('deep') } }
      const whole = { id, ...place, list, n, ...made, tags: n > 4 ? ['z'] : [] }
      const base = { table: 'items', keys: [id] }
      if (given.kind === 'add') {
        return old === undefined ? [{ ...base, type: 'insert', values: [whole] }] : []
      }
      if (given.kind === 'put') return [{ ...base, type: 'upsert', values: [whole] }]
      const changes = fill(given.spec)
      const values = [old === undefined ? whole : changed(old, changes)]
      return [{ ...base, type: 'upsert', values, changeSpecs: [changes] }]
    }
    case 'update': {
      const keys = given.keys.map((name) => cast.key(name))
      const count = given.isShared || keys.length === 0 ? 1 : keys.length
      const changeSpecs = Array.from({ length: count }, () => fill(given.spec))
      return [{ table: 'items', type: 'update', keys, changeSpecs }]
    }
    case 'modify':
    case 'deleteWhere': {
      const keys = matching(items, given.criteria)
      const base = { table: 'items', criteria: given.criteria } as const
      const rest =
        given.kind === 'modify'
          ? ({ type: 'modify', changeSpec: fill(given.spec) } as const)
          : ({ type: 'delete' } as const)
      const size = given.isChunked ? 1 : 200
      const chunks = Array.from({ length: Math.max(1, Math.ceil(keys.length / size)) }, (_, at) =>
        keys.slice(at * size, (at + 1) * size),
      )
      return chunks.map((chunk, at) => {
        const operation = { ...base, ...rest, keys: chunk }
        return at === 0 ? operation : { ...operation, isAdditionalChunk: true }
      })
    }
    case 'delete':
      return [{ table: 'items', type: 'delete', keys: [cast.key(given.key)], criteria: UNDEFINED }]
    case 'move': {
      const changeSpecs = [{ realmId: placeOf(given.realm) }]
      return [{ table: 'items', type: 'update', keys: [cast.key(given.key)], changeSpecs }]
    }
    case 'note': {
      const id = `#note:${person.id}`
      const values = [{ id, realmId: person.id, owner: person.id, n: given.n, $$ts: 1 }]
      return [{ table: 'notes', type: 'upsert', keys: [id], values }]
    }
    case 'count': {
      const changeSpecs = [{ n: { '@@propmod': { add: 1 } } }]
      return [{ table: 'counts', type: 'update', keys: [cast.key('count')], changeSpecs }]
    }
    case 'invite':
    case 'grant': {
      const row = memberOf(cast[given.realm], cast.people[given.who]!, given.permissions)
      const { userId: _, ...invited } = { ...row, owner: person.id, invite: true }
      const values = [given.kind === 'invite' ? invited : { ...row, owner: person.id }]
      return [{ table: 'members', type: 'upsert', keys: [row.id], values }]
    }
    case 'kick': {
      const keys = [memberOf(cast[given.realm], cast.people[given.who]!, {}).id]
      return [{ table: 'members', type: 'delete', keys, criteria: UNDEFINED }]
    }
    case 'accept':
    case 'reject': {
      const keys = [memberOf(cast[given.realm], person, {}).id]
      const date = { $t: 'Date', v: '2030-01-01T13:00:00.000Z' }
      const isYes = given.kind === 'accept'
      const changeSpecs = [isYes ? { accepted: date, rejected: UNDEFINED } : { rejected: date }]
      return [{ table: 'members', type: 'update', keys, changeSpecs }]
    }
    case 'open': {
      const values = [{ realmId: cast.side, owner: person.id, name: 'side' }]
      return [{ table: 'realms', type: 'insert', keys: [cast.side], values }]
    }
    case 'share': {
      const realm = { realmId: cast.side, owner: person.id, name: 'side' }
      const made = { table: 'realms', type: 'upsert', keys: [cast.side], values: [realm] } as const
      const member = memberOf(cast.side, cast.people[given.who]!, given.permissions)
      const values = [{ ...member, owner: person.id }]
      const moved = {
        table: 'items',
        type: 'modify',
        keys: matching(items, given.criteria),
        criteria: given.criteria,
        changeSpec: { realmId: cast.side },
      } as const
      const rest = [moved, { table: 'members', type: 'upsert', keys: [member.id], values } as const]
      return given.isRealmLast ? [...rest, made] : [made, ...rest]
    }
    case 'close':
      return [{ table: 'realms', type: 'delete', keys: [cast.side], criteria: UNDEFINED }]
  }
}

export function memberOf(realmId: string, { id, email }: Person, permissions: Value) {
  return { id: `mmb-${realmId}-${id}`, realmId, userId: id, email, permissions }
}

type Place = (typeof PLACES)[number]['place']

/** A changeSpec with new tags, and with the realms of places. */
function filled(
  given: Value,
  tag: (path: string) => string,
  placeOf: (name: Place) => string,
): Value {
  const fill = (value: unknown, path: string): unknown => {
    if (value === TAG) return tag(path)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    if ('place' in value) return placeOf(value.place as Place)
    if ('$t' in value || '@@propmod' in value) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, path)]))
  }
  return Object.fromEntries(Object.entries(given).map(([path, one]) => [path, fill(one, path)]))
}

type Given = { readonly index: unknown; readonly range: Value }

/** The keys of the rows that the client finds, in the order of IndexedDB. */
function matching(items: ReadonlyMap<string, Value>, { index, range }: Given): string[] {
  return [...items]
    .filter(([id, row]) => indexed(row, id, index).some((value) => isWithin(range, value)))
    .map(([id]) => id)
    .toSorted()
}

/** The keys under which an index has a row. */
function indexed(row: Value, id: string, index: unknown): unknown[] {
  if (index === null || typeof index !== 'string') return [id]
  if (index.startsWith('[')) {
    const parts = index
      .slice(1, -1)
      .split('+')
      .map((path) => valueIn(row, path))
    return parts.includes(undefined) ? [] : [parts]
  }
  const value = valueIn(row, index)
  return Array.isArray(value) ? (value as unknown[]) : [value]
}

function isWithin({ type, lower, upper, lowerOpen, upperOpen }: Value, value: unknown): boolean {
  if (type === 3) return true
  try {
    const order = (bound: unknown) => indexedDB.cmp(value, keyOf(bound))
    const isAbove = lower === UNDEFINED || order(lower) > (lowerOpen === true ? 0 : -1)
    return isAbove && (upper === UNDEFINED || order(upper) < (upperOpen === true ? 0 : 1))
  } catch (error) {
    // No key of IndexedDB: the row is not in the index.
    if (error instanceof Error && error.name === 'DataError') return false
    throw error
  }
}

function keyOf(bound: unknown): unknown {
  if (bound === MINIMUM) return Number.NEGATIVE_INFINITY
  return Array.isArray(bound) && bound !== MAXIMUM ? bound.map(keyOf) : bound
}
