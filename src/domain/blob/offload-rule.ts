import { unprocessable } from '../value/error'
import type { InlineKind, InlineValue } from '../value/inline-value'
import type { ReadTx, WriteTx } from '../store/store'

/** Decides which values are moved from their objects into blobs (protocol.md §8.2). */
export interface OffloadRule {
  /** The rule as text: `4096`, `clients`, `off`. */
  readonly text: string
  /** Larger values are offloaded, in bytes, for strings in UTF-16 units; undefined for none. */
  readonly beyond: Readonly<Record<InlineKind, number>> | undefined
}

export const OFF: OffloadRule = { text: 'off', beyond: undefined }

/** The rule of the published clients: every file is offloaded, even an empty one. */
const CLIENTS: OffloadRule = {
  text: 'clients',
  beyond: { file: -1, binary: 4095, string: 32_768 },
}

/** The rule with this text form. */
export function findRule(text: string): OffloadRule | undefined {
  const size = /^\d{1,15}$/.test(text) ? Number(text) : undefined
  if (size === undefined) return [OFF, CLIENTS].find((rule) => rule.text === text)
  return { text: String(size), beyond: { file: size, binary: size, string: size } }
}

/** Describes the text forms of rules. */
export const OFFLOAD_RULES =
  'a number of bytes, "clients" for what they offload themselves, or "off"'

export function isOffloaded(rule: OffloadRule, { kind, size }: InlineValue): boolean {
  return rule.beyond !== undefined && size > rule.beyond[kind]
}

/** The rule of this database, where it has one of its own. */
export function findOffloadRule(tx: ReadTx): OffloadRule | undefined {
  return tx.remember('offload', loadOffloadRule, tx, undefined)
}

function loadOffloadRule(tx: ReadTx): OffloadRule | undefined {
  const setting = tx.settings.find(SETTING)
  return setting && findRule(String(setting.value['rule']))
}

/**
 * Gives the database a rule of its own, or with null that of its server. Throws `UNPROCESSABLE`.
 */
export function setOffloadRule(tx: WriteTx, text: string | null): void {
  if (text === null) {
    tx.settings.remove(SETTING)
    return
  }
  const rule = findRule(text)
  if (rule === undefined) {
    throw unprocessable(`The size must be ${OFFLOAD_RULES}`)
  }
  tx.settings.put({ id: SETTING, value: { rule: rule.text } })
}

const SETTING = 'offload'
