/** One life of a realm id: an id that is deleted and comes back gets a new ref (design.md §3). */
export type RealmRef = number

export interface Realm {
  readonly ref: RealmRef
  readonly id: string
}

export const PUBLIC_REALM = 'rlm-public'
/** The public realm exists from the first start. */
export const PUBLIC_REALM_REF: RealmRef = 1

export interface RealmReader {
  /** The living realm with this id. */
  find(id: string): Realm | undefined
  findByRef(ref: RealmRef): Realm | undefined
  /** True when an earlier incarnation with this id was deleted. */
  isRetired(id: string): boolean
  /** True while this id still has objects or tombstones, of any incarnation. */
  isUsed(id: string): boolean
  /** The revision in which this life of the realm began; 0 for a realm that is unknown. */
  bornAt(ref: RealmRef): number
}

export interface RealmWriter extends RealmReader {
  /** The living realm with this id, created if there is none. */
  ensure(id: string): Realm
  /** From this commit nothing of the realm is visible; its rows are erased by a job. */
  markErasing(ref: RealmRef): void
}
