import { textPathsOf } from '../object/draft'
import type { Table } from '../store/tables'
import { isRecord, type WireObject } from '../value/value'
import type { SyncRequest } from './request'

/**
 * The properties that are Yjs documents, by table, as stored objects spell them. A client with `y-dexie`
 * fails at any value there, in each sync that brings it: rows come to it without.
 */
export type TextProperties = ReadonlyMap<string, ReadonlySet<string>>

/** The `Y.Doc` properties that the client and an administrator's schema declare in these tables; undefined for none. */
export function textProperties(
  declared: SyncRequest['tables'],
  tables: ReadonlyMap<string, Table>,
): TextProperties | undefined {
  let found: Map<string, ReadonlySet<string>> | undefined
  for (const [name, table] of tables) {
    const paths = textPathsOf(table)
    const own = declared.get(name)?.textProperties ?? []
    if (own.length + paths.length === 0) continue
    found ??= new Map()
    found.set(name, new Set([...own, ...paths]))
  }
  return found
}

/** Reads the text properties that a client declares (`textsDeclared`). */
export function readTexts(texts: string): TextProperties {
  const declared = JSON.parse(texts) as [string, string[]][]
  return new Map(declared.map(([name, own]) => [name, new Set(own)]))
}

/** The entries of a message to a client (JSON, joined by commas) without values of these properties. */
export function withoutText(entries: string, properties: TextProperties): string {
  const names = new Set([...properties.values()].flatMap((own) => [...own]))
  const isMentioned = [...names].some((name) => entries.includes(`${JSON.stringify(name)}:`))
  if (!isMentioned) return entries
  const parsed = JSON.parse(`[${entries}]`) as Entry[]
  let isChanged = false
  for (const { table, muts } of parsed) {
    const own = properties.get(table)
    if (own === undefined) continue
    for (const object of muts.flatMap(({ values, changeSpecs }) => values ?? changeSpecs ?? [])) {
      for (const name of own) {
        if (!isRecord(object) || !Object.hasOwn(object, name)) continue
        delete object[name]
        isChanged = true
      }
    }
  }
  return isChanged ? JSON.stringify(parsed).slice(1, -1) : entries
}

/** What one message says of one table. */
interface Entry {
  readonly table: string
  readonly muts: readonly {
    readonly values?: readonly WireObject[]
    readonly changeSpecs?: readonly WireObject[]
  }[]
}
