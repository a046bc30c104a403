/** One life of a realm id: an id that is deleted and comes back gets a new ref (design.md §3). */
export type RealmRef = number

export interface Realm {
  readonly ref: RealmRef
  readonly id: string
}

export const PUBLIC_REALM = 'rlm-public'
/** The public realm exists from the first start. */
export const PUBLIC_REALM_REF: RealmRef = 1
