import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import type { Session } from '../control/session'
import { type Cli, inSession, withFolder } from './command'
import { isoTime, print } from './output'
import { table } from './table'

/** `satchel audit`. */
export function addAuditCommand(program: Command, cli: Cli): void {
  withFolder(
    program.command('audit'),
    'satchel audit',
    'satchel audit --db main --since 2030-01-31',
  )
    .description(
      'list the operations that changed something or showed a secret, with their callers',
    )
    .option('--db <name>', 'one database only; otherwise all of them and the server itself')
    .option('--since <time>', 'from a date or time, UTC (default: the last 30 days)', time)
    .action(({ db, since, ...options }) =>
      inSession(cli, options, async (session) => {
        const pages = pagesOf(linesByTime(session, db, since))
        await (options.json ? printJson(cli, pages) : printTables(cli, pages))
      }),
    )
}

/** How many lines are printed at once, and about how many are read ahead: a year of them may not fit into memory. */
const PRINTED_LINES = 1_000
const LINES_READ_AHEAD = 20_000

/** A line, with null for one of the server itself. */
type Line = OutputOf<'audit.list'>['lines'][number] & { readonly database: string | null }

/** The lines of one database, or of all and the server, in the order of their times. */
async function* linesByTime(
  session: Session,
  db: string | undefined,
  since: number | undefined,
): AsyncGenerator<Line> {
  const names = db === undefined ? (await session.run('db.list', {})).map(({ name }) => name) : [db]
  const databases = db === undefined ? [null, ...names] : names
  const limit = Math.ceil(LINES_READ_AHEAD / databases.length)
  const sources: Source[] = []
  for (const [order, database] of databases.entries()) {
    const lines = linesOf(session, database, since, limit)
    await advance(sources, { order, lines, first: undefined })
  }
  for (let source = sources.shift(); source?.first !== undefined; source = sources.shift()) {
    yield source.first
    await advance(sources, source)
  }
}

/** Lines that wait for their turn, with the first of them; of equal times the lower order is earlier. */
interface Source {
  readonly order: number
  readonly lines: AsyncGenerator<Line>
  readonly first: Line | undefined
}

/** Puts a source with its next line among the others, unless it has ended. */
async function advance(sources: Source[], source: Source): Promise<void> {
  const next = await source.lines.next()
  if (next.done) return
  const first = next.value
  const isLater = ({ order, first: other }: Source) =>
    other !== undefined && (other.at - first.at || order - source.order) > 0
  const index = sources.findIndex(isLater)
  sources.splice(index < 0 ? sources.length : index, 0, { ...source, first })
}

/** The lines of a database, or of the server. */
async function* linesOf(
  session: Session,
  database: string | null,
  since: number | undefined,
  limit: number,
): AsyncGenerator<Line> {
  let cursor: string | null = null
  do {
    const asked = { database, since, limit, cursor }
    const page: OutputOf<'audit.list'> = await session.run('audit.list', asked)
    for (const line of page.lines) yield { database, ...line }
    cursor = page.cursor
  } while (cursor !== null)
}

/** Lists of lines; an empty one when there are none at all. */
async function* pagesOf(lines: AsyncIterable<Line>): AsyncGenerator<readonly Line[]> {
  let page: Line[] = []
  let isFirst = true
  for await (const line of lines) {
    page.push(line)
    if (page.length < PRINTED_LINES) continue
    yield page
    page = []
    isFirst = false
  }
  if (isFirst || page.length > 0) yield page
}

/** One JSON object in all. */
async function printJson({ terminal }: Cli, pages: AsyncIterable<readonly Line[]>): Promise<void> {
  let start = '{"data":['
  for await (const lines of pages) {
    const shown = lines.map(({ at, ...line }) => JSON.stringify({ at: isoTime(at), ...line }))
    await terminal.write(start + shown.join(','))
    start = ','
  }
  await terminal.write(']}\n')
}

/** A table for each page. */
async function printTables(cli: Cli, pages: AsyncIterable<readonly Line[]>): Promise<void> {
  const width = cli.terminal.outputWidth
  for await (const lines of pages) {
    const text = lines.length === 0 ? 'There are no operations' : tableOf(lines, width)
    await print(cli, {}, {}, text)
  }
}

function tableOf(lines: readonly Line[], width: number | undefined): string {
  const rows = lines.map(({ at, database, operation, result, ...caller }) => [
    isoTime(at).slice(0, 19).replace('T', ' '),
    database ?? '',
    operation,
    result === 'done' || result === 'begun' ? result : (['red', result] as const),
    actorOf(caller),
    caller.address ?? '',
  ])
  const headings = ['time (UTC)', 'database', 'operation', 'result', 'by', 'address']
  return table(headings, rows, width)
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
