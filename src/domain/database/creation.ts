import { requireEmail } from '../value/email'
import { SatchelError } from '../value/error'

/** The people who may create databases at the address of the server, as text and as a test. */
export interface CreationRule {
  readonly text: string
  /** Null asks whether anyone may at all. */
  admits(email: string | null): boolean
}

/** `off`, `anyone`, or addresses and domains: `ada@example.com,@example.org`. Undefined for other text. */
export function findCreationRule(text: string): CreationRule | undefined {
  if (text === 'off') return { text, admits: () => false }
  if (text === 'anyone') return { text, admits: () => true }
  const entries = text.split(',').map((entry) => entry.trim().toLowerCase())
  if (!entries.every(isEntry)) return undefined
  const admits = (email: string | null) =>
    email === null ||
    entries.some((entry) => (entry.startsWith('@') ? email.endsWith(entry) : email === entry))
  return { text, admits }
}

/** Throws `NOT_AUTHORIZED` when the rule does not admit this address; null: when it admits none. */
export function requireCreator(rule: CreationRule, email: string | null): void {
  if (rule.admits(email)) return
  throw new SatchelError(
    'NOT_AUTHORIZED',
    email === null
      ? 'Databases are not created here: the administrator of the server allows it with --create-databases'
      : 'This address may not create databases here: the administrator of the server allows it with --create-databases',
  )
}

function isEntry(entry: string): boolean {
  try {
    requireEmail(entry.startsWith('@') ? `somebody${entry}` : entry)
    return true
  } catch {
    return false
  }
}
