import type { Letter, MailKind, MailVariables } from '../domain/store/mailer'
import { DAY } from '../domain/value/time'

/** A sample letter to try out the templates of a kind (protocol.md §13.2). */
export function sampleLetter(kind: MailKind, to: string, database: string, now: number): Letter {
  const { otp, invite } = sampleVariables(to, database)
  const expires = now + DAY
  return kind === 'otp'
    ? { kind, to, variables: otp, expires }
    : { kind, to, variables: invite, expires }
}

/** The names of the variables of a kind, as templates write them. */
export function variableNames(kind: MailKind): readonly string[] {
  return Object.keys(sampleVariables('', '')[kind])
}

/** Sample variables for the templates. */
export function sampleVariables(email: string, database: string): MailVariables {
  return {
    otp: {
      otp: 'ABCD1234',
      otp_id: 'none',
      email,
      originName: database,
      origin: '',
      link: '',
      minutes: 10,
      notice: 'This is a test: its code cannot be used to log in.',
    },
    invite: {
      email,
      name: '',
      realmName: 'a test list',
      inviterName: 'Satchel',
      inviterEmail: 'satchel@example.com',
      originName: database,
      origin: '',
      link: 'https://example.com/this-is-a-test',
      days: 30,
    },
  }
}
