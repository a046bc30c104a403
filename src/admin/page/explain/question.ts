export const VERBS = ['read', 'add', 'update', 'delete'] as const

/** A question about the rights of a user, as `explain` takes it. */
export interface Question {
  readonly as: string
  readonly do: (typeof VERBS)[number]
  readonly table: string
  readonly key: string | null
  /** For `add`: the id of a realm, or of a user for a private one; null while it is not known. */
  readonly realm: string | null
  /** For `update`; null for any. */
  readonly property: string | null
}

/**
 * The question that a rejected write asks. `rule` is the missing permission, such as `update todoItems.done`; `manage` is what a
 * deletion needs, and another one is taken for an update.
 */
export function questionOf(
  user: string,
  { table, key, rule }: { table: string | null; key: string | null; rule: string | null },
): Question {
  const [act, target = ''] = rule?.split(' ') ?? []
  const verb = act === 'manage' ? 'delete' : (VERBS.find((each) => each === act) ?? 'update')
  const start = `${table ?? ''}.`
  const property = verb === 'update' && target.startsWith(start) ? target.slice(start.length) : null
  return { as: user, do: verb, table: table ?? '', key, realm: null, property }
}
