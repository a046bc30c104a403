/** A user, as `user.list` and `user.show` have them. Times are ISO text. */
export interface User {
  readonly userId: string
  readonly created: string
  readonly updated: string
  readonly lastLogin: string | null
  readonly type: 'demo' | 'eval' | 'prod'
  readonly validUntil?: string
  readonly evalDaysLeft?: number
  readonly deactivated: string | null
  /** Whatever the application or the provider has kept. */
  readonly data: Readonly<Record<string, unknown>> | null
}

export interface UserPage {
  readonly data: readonly User[]
  readonly hasMore: boolean
  readonly pagingKey?: string
}

/** The name that a user is shown with. */
export function nameOf({ data, userId }: User): string {
  const name = data?.['displayName']
  return typeof name === 'string' && name !== '' ? name : userId
}

/** The licence of a user in a word or two, and its colour. */
export function licenceOf(user: User, now: number): readonly [text: string, kind: string] {
  if (user.deactivated !== null) return ['deactivated', 'bad']
  if (user.validUntil !== undefined && Date.parse(user.validUntil) <= now)
    return ['expired', 'warn']
  if (user.type === 'eval') {
    const days = user.evalDaysLeft ?? 0
    return days === 0 ? ['evaluation over', 'warn'] : [`evaluation, ${days} d left`, 'info']
  }
  return user.type === 'prod' ? ['production', 'good'] : [user.type, '']
}
