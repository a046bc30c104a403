import { type Command, Option } from '@commander-js/extra-typings'
import { basename, extname } from 'node:path'
import { UsageError } from '../config/config'
import type { OutputOf } from '../control/operations'
import type { ExportFormat } from '../domain/transfer/export'
import { describeProgress, FOLLOWING } from '../domain/transfer/import-progress'
import type { Session } from '../control/session'
import { carryOut, type Cli, example, inSession, Interruption, withDatabase } from './command'
import { openInput, writeWhole } from './files'
import { type ListedJob, shareOf } from './job'
import { counted, note, print, showProgress } from './output'
import { oneLine } from './table'
import { quoted, SatchelError } from '../domain/value/error'

/** `satchel import` (design.md §6, protocol.md §9.4). */
export function addImportCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('import'))
    .description(
      'import a file of objects and blobs; the whole file is checked before anything is changed',
    )
    .argument('<file>', 'zip, NDJSON or JSON as satchel export writes it, - for standard input')
    .option('--table <name>', 'the file is a plain list of objects of this table')
    .option('--realm <id>', 'the realm of those objects')
    .option('--atomic', 'in one transaction, while other writers wait, instead of in small steps')
    .option('--dry-run', 'check the file, and change nothing')
    .addHelpText(
      'after',
      '\nThe same file is not imported twice at once: while an import of it is under way, or was interrupted, that import goes on and this command waits for its end, unless --atomic is given.',
    )
    .addHelpText(
      'after',
      example(
        'satchel import backup.zip',
        'satchel import cities.json --table cities --realm rlm-public',
      ),
    )
    .action(async (file, options) => {
      const { db: database, table = null, realm = null, atomic = false, dryRun = false } = options
      if (realm !== null && table === null) {
        throw new UsageError('--realm needs --table: name the table of the objects')
      }
      const { bytes: upload, size } = openInput(cli, file)
      const name = file === '-' ? null : basename(file)
      const input = { database, table, realm, atomic, dryRun, size, name }
      using progress = showProgress(cli, options, 'bytes')
      let isFollowing = false
      const follow = () => {
        if (!isFollowing && options.json === undefined) {
          progress[Symbol.dispose]()
          note(cli.terminal, 'This file is already being imported: waiting for that import')
        }
        isFollowing = true
      }
      const { imported, resumed } = await inSession(
        cli,
        options,
        async (session) => {
          const resumed = await listImports(session, database)
          if (options.json === undefined) announce(cli, resumed)
          const imported = await interruptible(cli, session, input, (signal, found) =>
            session.run('import', input, {
              upload,
              progress(done, total, phase) {
                if (phase === 'Importing' && !atomic) found('applied')
                if (phase === FOLLOWING) {
                  follow()
                  found('followed')
                }
                progress.update(done, total, phase)
              },
              signal,
            }),
          )
          if (imported.followed !== null) follow()
          return { imported, resumed: resumed.map(({ id, place }) => ({ id, ...place })) }
        },
        { isDestructive: true },
      )
      progress[Symbol.dispose]()
      await print(cli, options, { ...imported, resumed }, importSummary(imported, dryRun))
    })
}

/** The imports that go on, oldest first. */
async function listImports(session: Session, database: string): Promise<readonly ListedJob[]> {
  const jobs = await session.run('job.list', { database })
  return jobs.filter(({ kind, failure }) => kind === 'import' && failure === null)
}

/** Says which imports were begun by an earlier command: they end before this one begins. */
function announce({ terminal }: Cli, imports: readonly ListedJob[]): void {
  for (const { place } of imports) {
    const text = place === null ? 'an earlier import' : describeProgress(place)
    note(terminal, `Continues ${oneLine(text)}, which comes first`)
  }
}

/**
 * Runs an import, which says when it changes something, or follows an earlier import of the same file, until
 * it ends or Ctrl-C is pressed. Then throws an `Interruption`: an import that has begun to apply goes on
 * in the server, or has ended by now; any other one has changed nothing.
 */
async function interruptible<T>(
  { terminal }: Cli,
  session: Session,
  { database, name }: { readonly database: string; readonly name: string | null },
  work: (signal: AbortSignal, found: (state: 'applied' | 'followed') => void) => Promise<T>,
): Promise<T> {
  const earlier = new Set((await listImports(session, database)).map(({ id }) => id))
  const interrupt = new AbortController()
  using _ = terminal.onInterrupt(() => interrupt.abort())
  let state: 'applied' | 'followed' | undefined
  try {
    return await work(interrupt.signal, (found) => (state = found))
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
  }
  const find = async () => {
    const imports = await listImports(session, database)
    return importLeft(imports, state === 'followed' ? { file: name } : { earlier })
  }
  let begun = await find()
  for (let looks = 1; begun === undefined && state === undefined && looks < MAX_LOOKS; looks += 1) {
    await Bun.sleep(PAUSE_MS)
    begun = await find()
  }
  if (begun === undefined) {
    throw new Interruption(state === undefined ? 'Nothing was imported' : ENDED[state])
  }
  const { id, place } = begun
  const subject = place === null ? 'The import' : sentence(oneLine(describeProgress(place)))
  throw new Interruption(
    `${subject} (${shareOf(begun)}) goes on while a server runs: satchel job list shows it, satchel job cancel ${id} ends it`,
  )
}

/** The import that a command leaves behind: that of the file which it followed, or one that is not `earlier`. */
export function importLeft<T extends Pick<ListedJob, 'id' | 'place'>>(
  imports: readonly T[],
  given: { readonly file: string | null } | { readonly earlier: ReadonlySet<string> },
): T | undefined {
  return imports.find(({ id, place }) =>
    'earlier' in given ? !given.earlier.has(id) : place !== null && place.file === given.file,
  )
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const ENDED = {
  applied: 'The import had ended already',
  // An import may be under way with the same bytes and another name.
  followed:
    'The earlier import of this file has ended, or goes on while a server runs: satchel job list shows it',
}

/** A server notices in less than ten pauses that its command is gone. */
const MAX_LOOKS = 10
const PAUSE_MS = 20

function importSummary(imported: OutputOf<'import'>, isDryRun: boolean): string {
  const { objects, deleted, demoUsers, blobs, tables, followed } = imported
  const parts = [
    counted(objects, 'object'),
    ...(deleted > 0 ? [counted(deleted, 'deletion')] : []),
    ...(demoUsers > 0 ? [counted(demoUsers, 'demo user')] : []),
    ...(blobs > 0 ? [counted(blobs, 'blob')] : []),
    ...(tables > 0 ? [counted(tables, 'table')] : []),
  ]
  const all = parts.join(', ')
  if (isDryRun) return `The file is valid: ${all}. Nothing was changed`
  return followed === null
    ? `Imported ${all}`
    : `The earlier import of this file has ended: ${all}. This command imported nothing itself: repeat it to import the file again`
}

const FORMATS = ['ndjson', 'json', 'zip'] as const satisfies readonly ExportFormat[]

/** `satchel export` (design.md §6, protocol.md §9.4). */
export function addExportCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('export'))
    .description('export the schema, all objects and blobs as a file that satchel import reads')
    .argument('[file]', 'the file to write (default: standard output)')
    .option('--table <name>', 'the objects of this table only, and the blobs they reference')
    .option('--realm <id>', 'the objects of this realm only, and the blobs they reference')
    .option(
      '--filter <query>',
      'of a table, only objects with these values, as in the address of a list',
    )
    .option('--search <text>', 'of a table, only objects with this text in their key or their JSON')
    .option('--prefix <text>', 'of a table, only keys that begin with this')
    .addOption(
      new Option(
        '--format <name>',
        'zip: with blobs; ndjson and json: without. Default: the extension of the file, else ndjson',
      ).choices(FORMATS),
    )
    .addHelpText(
      'after',
      '\nHidden tables, realms that are being erased, clients, keys and all users except demo users are left out. A zip has data.ndjson, blobs.ndjson, and the bytes of each blob in blobs/.',
    )
    .addHelpText(
      'after',
      example(
        'satchel export backup.zip',
        'satchel export --format zip --realm rlm0a3 | ssh backup "cat > rlm0a3.zip"',
        'satchel export --table cities | head',
        "satchel export swedish.ndjson --table cities --filter 'country=SE'",
      ),
    )
    .action(async (file, options) => {
      const format = options.format ?? formatOf(file)
      const { terminal } = cli
      if (file === undefined && format === 'zip' && terminal.isOutputTerminal) {
        throw new UsageError(
          'A zip is not printed to a terminal: name a file, or pipe it to a program',
        )
      }
      using progress = showProgress(cli, options, format === 'zip' ? 'parts' : 'objects')
      const run = (download: (bytes: Uint8Array) => Promise<void>) => {
        const streams = { download, progress: progress.update }
        return carryOut(cli, 'export', { ...options, format }, { streams })
      }
      if (file === undefined) {
        const exported = await run((bytes) => terminal.write(bytes))
        progress[Symbol.dispose]()
        const { leftOut } = exported
        if (leftOut > 0) note(terminal, leftOutText(leftOut))
        requireUndamaged(exported)
        return
      }
      const exported = await writeWhole(file, run)
      progress[Symbol.dispose]()
      await print(cli, options, exported, `${exportSummary(exported)} to ${file}${rest(exported)}`)
      requireUndamaged(exported)
    })
}

/** Writes an export of a whole database to a file, and resolves to a sentence about it. Throws what an export throws. */
export async function exportTo(
  cli: Cli,
  file: string,
  format: ExportFormat,
  options: { readonly data: string; readonly db: string },
): Promise<string> {
  const exported = await writeWhole(file, (download) =>
    carryOut(cli, 'export', { ...options, format }, { streams: { download } }),
  )
  requireUndamaged(exported)
  return `${exportSummary(exported)} to ${file}${rest(exported)}`
}

/** Extensions that fit NDJSON as well. */
const LINES: ReadonlySet<string> = new Set(['jsonl', 'txt'])

/** The format that the extension of a file names, NDJSON without one. Throws `UsageError` for others. */
export function formatOf(file = ''): ExportFormat {
  const extension = extname(file).slice(1).toLowerCase()
  const format = FORMATS.find((known) => known === extension)
  if (format !== undefined) return format
  if (/^[a-z]+$/.test(extension) && !LINES.has(extension)) {
    throw new UsageError(
      `.${extension} is no format of an export: end the name in .zip, .ndjson or .json, or choose with --format`,
    )
  }
  return 'ndjson'
}

/** How many damaged objects are named. */
const SHOWN_NAMES = 20

/** Throws `DAMAGED`, after an export that left damaged objects out. */
function requireUndamaged({ damaged }: OutputOf<'export'>): void {
  if (damaged.length === 0) return
  const names = damaged
    .slice(0, SHOWN_NAMES)
    .map(({ table, key }) => `\n  ${quoted(key)} of ${quoted(table)}`)
  const more = damaged.length > SHOWN_NAMES ? `\n  and ${damaged.length - SHOWN_NAMES} more` : ''
  throw new SatchelError(
    'DAMAGED',
    `${counted(damaged.length, 'object')} ${damaged.length === 1 ? 'is' : 'are'} damaged and left out (satchel verify lists all damage):${names.join('')}${more}`,
  )
}

function exportSummary({ objects, blobs }: OutputOf<'export'>): string {
  const parts = [counted(objects, 'object'), ...(blobs > 0 ? [counted(blobs, 'blob')] : [])]
  return `Exported ${parts.join(' and ')}`
}

function rest({ leftOut }: OutputOf<'export'>): string {
  return leftOut === 0 ? '' : `\n${leftOutText(leftOut)}`
}

function leftOutText(count: number): string {
  return `${counted(count, 'blob')} left out: only a zip can hold blobs (--format zip)`
}
