import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import type { Session } from '../control/session'
import { type Cli, example, inSession, withFolder } from './command'
import { isoTime, print } from './output'
import { table } from './table'

/** `satchel audit`. */
export function addAuditCommand(program: Command, cli: Cli): void {
  withFolder(program.command('audit'))
    .description(
      'list the operations that changed something or showed a secret, with their callers',
    )
    .option('--db <name>', 'one database only; otherwise all of them and the server itself')
    .option('--since <time>', 'from a date or time, UTC (default: the last 30 days)', time)
    .addHelpText('after', example('satchel audit', 'satchel audit --db main --since 2030-01-31'))
    .action(async ({ db, since, ...options }) => {
      const lines = await inSession(cli, options, (session) => listAll(session, db, since))
      const data = lines
        .toSorted((one, other) => one.at - other.at)
        .map(({ at, ...line }) => ({ at: isoTime(at), ...line }))
      const rows = data.map(({ at, database, operation, result, ...caller }) => [
        `${at.slice(0, 10)} ${at.slice(11, 19)}`,
        database ?? '',
        operation,
        result === 'done' || result === 'begun' ? result : (['red', result] as const),
        actorOf(caller),
        caller.address ?? '',
      ])
      const headings = ['time (UTC)', 'database', 'operation', 'result', 'by', 'address']
      const text = table(headings, rows, cli.terminal.outputWidth)
      await print(cli, options, { data }, data.length === 0 ? 'There are no operations' : text)
    })
}

type Line = OutputOf<'audit.list'>['lines'][number]

/** The lines of one database, or of all and the server, whose lines have no database. */
async function listAll(session: Session, db: string | undefined, since: number | undefined) {
  const named = db === undefined ? await session.run('db.list', {}) : [{ name: db }]
  const names = named.map(({ name }) => name)
  const lines: (Line & { readonly database: string | null })[] = []
  for (const database of db === undefined ? [null, ...names] : names) {
    let next: { readonly since: number | null; readonly after: number } | null = {
      since: since ?? null,
      after: 0,
    }
    while (next !== null) {
      const page: OutputOf<'audit.list'> = await session.run('audit.list', { database, ...next })
      for (const line of page.lines) lines.push({ database, ...line })
      next = page.next
    }
  }
  return lines
}

/** `user alice by client q2v…`, `uid 1000`. */
function actorOf({
  door,
  uid,
  client,
  user,
  session,
}: Pick<Line, 'door' | 'uid' | 'client' | 'user' | 'session'>) {
  if (door === 'page')
    return [client && `client ${client}`, `login ${session}`].filter(Boolean).join(', ')
  if (door !== 'rest') return door === 'job' ? 'the server' : `uid ${uid ?? 'unknown'}`
  return [user, client === null ? null : `client ${client}`]
    .filter((name) => name !== null)
    .join(', ')
}

function time(given: string): number {
  const ms = Date.parse(given)
  if (!Number.isNaN(ms) && /^\d{4}-/.test(given)) return ms
  throw new InvalidArgumentError('it must be a date or a time such as 2030-01-31T12:00Z.')
}
