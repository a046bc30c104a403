/** What may be done in a realm (protocol.md §6.3, `DBPermissionSet`). */
export interface PermissionSet {
  readonly add?: '*' | readonly string[]
  readonly update?: '*' | Readonly<Record<string, '*' | readonly string[]>>
  readonly manage?: '*' | readonly string[]
}
