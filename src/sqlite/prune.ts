import { recipientOf } from '../domain/store/mails'
import type { Prunable } from '../domain/store/records'
import type { WriteContext } from './context'
import { pruneClients, pruneHistory } from './sync'

/** Forgets up to `limit` rows from before a time, ms, and returns their number. */
type Pruner = (context: WriteContext, before: number, limit: number) => number

export const PRUNERS: Readonly<Record<Prunable, Pruner>> = {
  audit: pruning('audit', 'seq', 'at'),
  erasedUsers: pruning('erased_users', 'number', 'at'),
  codes: pruning('codes', 'id', 'expires'),
  invitations: pruning('invitations', 'id', 'expires'),
  logins(context, before, limit) {
    const spent = pruneStates(context, before, limit)
    return spent + pruneRevoked(context, before, limit - spent)
  },
  refreshTokens: pruning('refresh_tokens', 'hash', 'last_used'),
  refreshUses: pruning('refresh_uses', '(hash, time_stamp)', 'used'),
  history: pruneHistory,
  syncClients: pruneClients,
}

const pruneStates = pruning('spent_states', 'id', 'expires')
const pruneRevoked = pruning('revoked_logins', 'id', 'expires')

function pruning(table: string, key: string, time: string): Pruner {
  const columns = key.replace(/[()]/g, '')
  const sql = `DELETE FROM ${table} WHERE ${key} IN (SELECT ${columns} FROM ${table} WHERE ${time} < ? LIMIT ?)`
  return ({ connection }, before, limit) => connection.prepare(sql).run(before, limit).changes
}

export function forgetAddress({ connection }: WriteContext, address: string): void {
  connection.prepare('DELETE FROM codes WHERE subject = ?').run(address)
  connection.prepare('DELETE FROM invitations WHERE email = ?').run(address)
  connection.prepare('DELETE FROM mails WHERE recipient = ?').run(recipientOf(address))
}
