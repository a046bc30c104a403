/** An object as `object.show` has it. */
export interface StoredObject {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly revision: number
  /** In characters, as it is stored. */
  readonly size: number
  /** The revision at which it came into being, or into its realm. */
  readonly entered: number
  /** ms since the epoch. */
  readonly updated: number
  readonly value: Readonly<Record<string, unknown>>
}

/** An edit that is not saved. */
export interface Draft {
  /** The object as it was when the edit began: what others write meanwhile is not overwritten. */
  readonly base?: StoredObject
  readonly text: string
}

/** The edits that are not saved, by database, table and key, if there is one: in the memory of the tab only. */
const drafts = new Map<string, Draft>()

export function keepDraft(place: readonly string[], draft: Draft | null): void {
  const key = JSON.stringify(place)
  if (draft === null) drafts.delete(key)
  else drafts.set(key, draft)
}

export function findDraft(place: readonly string[]): Draft | undefined {
  return drafts.get(JSON.stringify(place))
}
