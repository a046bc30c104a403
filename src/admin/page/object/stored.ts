import { visible } from '../parts/visible'
/** An object as `object.show` has it. */
export interface StoredObject {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly revision: number
  /** The revision at which it came into being, or into its realm. */
  readonly entered: number
  /** ms since the epoch. */
  readonly updated: number
  readonly value: Readonly<Record<string, unknown>>
}

/** The text that is edited: characters that are not seen are escaped. */
export function textOf(value: unknown): string {
  return visible(JSON.stringify(value, null, 2))
}

/** The texts of edits that are not saved, by database, table and key: in the memory of the tab only. */
const drafts = new Map<string, string>()

export function keepDraft(place: readonly string[], text: string | null): void {
  const key = JSON.stringify(place)
  if (text === null) drafts.delete(key)
  else drafts.set(key, text)
}

export function findDraft(place: readonly string[]): string | undefined {
  return drafts.get(JSON.stringify(place))
}
