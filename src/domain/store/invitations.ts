import type { RealmRef } from './realms'

/** An invitation that went out by mail: what the link in it stands for. */
export interface Invitation {
  /** base64url of the SHA-256 of the secret in the link. */
  readonly id: string
  /** The key of the row in `members`. */
  readonly member: string
  /** The realm that the mail spoke of. */
  readonly realm: RealmRef
  /** Where it went. */
  readonly email: string
  /** The hash of the inviting user or client, from `hashInviter`. */
  readonly inviter: string
  /** The page to go on to, `https://app.example.com`, or null. */
  readonly origin: string | null
  /** The display name of that page, or of the database. */
  readonly originName: string
  /** ms since the epoch. */
  readonly sent: number
  readonly expires: number
}

export interface InvitationReader {
  find(id: string): Invitation | undefined
  /**
   * When the invitations of this inviter, or those to this address, went out, in the span and no more
   * than `most`, the newest first.
   */
  sent(
    of: { readonly inviter: string } | { readonly email: string },
    span: Span,
    most: number,
  ): number[]
}

/** From `after` (not included) to `until`, ms since the epoch. */
export interface Span {
  readonly after: number
  readonly until: number
}

export interface InvitationWriter extends InvitationReader {
  put(invitation: Invitation): void
}
