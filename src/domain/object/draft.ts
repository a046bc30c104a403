import { quoted, unprocessable } from '../value/error'
import { keyOf, requireIdText } from '../value/key'
import { type WireObject, requireWireObject, setOwn } from '../value/value'
import { propertyAt } from '../value/property'
import { parseTable } from '../value/schema'
import type { Table } from '../store/tables'

/**
 * An object that is about to be written: checked and serialised once, its place not yet decided.
 */
export interface Draft {
  readonly object: WireObject
  /** Canonical text of `object`. */
  readonly text: string
  /** Undefined when the table makes its own. */
  readonly key: string | undefined
  /** Undefined when the writer leaves it open. */
  readonly realmId: string | undefined
  /** Undefined when the writer omits it; null for an unowned object. */
  readonly owner: string | null | undefined
}

/**
 * Reads one object of a request. `position` is its place in the array, `text` its canonical text where
 * that is known. Throws `UNPROCESSABLE`, also for a value in a property that the table declares `Y.Doc`.
 */
export function draftOf(
  table: Table,
  value: unknown,
  position: number | undefined,
  text?: string,
): Draft {
  const path = position === undefined ? '' : `[${position}]`
  const object = requireWireObject(value, path)
  requireNoText(table, object, position)
  return draftWith(object, keyOf(table, object), text)
}

/** The draft of an object that was checked. Throws `UNPROCESSABLE` for a realm or an owner that cannot be one. */
export function draftWith(
  object: WireObject,
  key: string | undefined,
  text = JSON.stringify(object),
): Draft {
  const { realmId, owner } = object
  return {
    object,
    text,
    key,
    realmId: realmId === undefined ? undefined : requireIdText(realmId, 'realmId'),
    owner: owner === undefined || owner === null ? owner : requireIdText(owner, 'owner'),
  }
}

/** Any value there, null too, makes every sync of a client with `y-dexie` that gets the object fail. */
function requireNoText(table: Table, object: WireObject, position: number | undefined): void {
  for (const path of textPathsOf(table)) {
    if (propertyAt(object, path) === undefined) continue
    const place = position === undefined ? path : `[${position}].${path}`
    throw unprocessable(
      `${quoted(place)} is declared Y.Doc in the schema of ${quoted(table.name)}: its text is not a value of the object, leave the property out`,
      path,
    )
  }
}

/** The `Y.Doc` properties of a stores text. Clients teach keys only, so it is that of an administrator. */
export function textPathsOf({ name, stores }: Table): readonly string[] {
  return stores.includes(': Y.Doc') ? parseTable(name, stores).yProps : NONE
}

const NONE: readonly string[] = []

/** The draft with these properties set. Properties that were absent are appended to the text. */
export function withFields(draft: Draft, fields: Readonly<Record<string, unknown>>): Draft {
  let appended = ''
  let isAppendOnly = true
  for (const name of Object.keys(fields)) {
    if (Object.hasOwn(draft.object, name)) {
      if (draft.object[name] !== fields[name]) isAppendOnly = false
    } else {
      appended += `,${JSON.stringify(name)}:${JSON.stringify(fields[name])}`
    }
  }
  if (isAppendOnly && appended === '') return draft
  const { key, realmId, owner } = draft
  if (!isAppendOnly) {
    const object = merged(draft.object, fields)
    return { object, text: JSON.stringify(object), key, realmId, owner }
  }
  return {
    // Rarely needed: only for indexes and for rules that compare properties.
    get object() {
      return merged(draft.object, fields)
    },
    text: draft.text === '{}' ? `{${appended.slice(1)}}` : `${draft.text.slice(0, -1)}${appended}}`,
    key,
    realmId,
    owner,
  }
}

function merged(object: WireObject, fields: Readonly<Record<string, unknown>>): WireObject {
  const copy = { ...object }
  for (const [name, value] of Object.entries(fields)) setOwn(copy, name, value)
  return copy
}

/** A private key `#x` becomes `#x:<subject>` and stays in the private realm (protocol.md §10.3). */
export function asPrivate(table: Table, draft: Draft, subject: string): Draft {
  const { key } = draft
  if (key === undefined || table.compound || !key.startsWith('#')) return draft
  if (draft.realmId !== undefined && draft.realmId !== subject) {
    throw unprocessable(
      `${quoted(key)} is a private key: its object stays in the private realm of its user`,
      'realmId',
    )
  }
  const path = table.primaryKey?.[0] ?? ''
  if (path.includes('.')) {
    throw unprocessable(`Keys inside a property cannot be private (${quoted(key)})`, path)
  }
  const own = privateKey(key, subject)
  return { ...withFields(draft, { [path]: own }), key: own, realmId: subject }
}

export function privateKey(key: string, subject: string): string {
  return key.startsWith('#') && !key.endsWith(`:${subject}`) ? `${key}:${subject}` : key
}
