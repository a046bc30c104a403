import { type Command, InvalidArgumentError, type OptionValues } from '@commander-js/extra-typings'
import { statSync } from 'node:fs'
import type { MadeBackup, SendBackup } from '../backups/make'
import type { Target } from '../backups/target'
import type { BackupFault } from '../backups/verify'
import { readConfig, UsageError } from '../config/config'
import { SETTINGS } from '../config/settings'
import { parseRetention, type Retention } from '../domain/backup/retention'
import { SatchelError } from '../domain/value/error'
import { type Cli, example, inSession, Interruption, withFolder } from './command'
import { counted, minute, note, print, showProgress, size } from './output'
import { table } from './table'

/** `satchel backup` and `satchel backup list|verify|prune`. */
export function addBackupCommands(program: Command, cli: Cli): void {
  const backup = withTarget(withFolder(program.command('backup')))
    .description('back up all databases while they are served')
    .argument(
      '<target>',
      'a folder with backups, which is made if there is none, or s3://bucket/prefix',
    )
    .option('--db <name>', 'only this database')
    .addHelpText(
      'after',
      '\nA backup is a folder that is whole by itself; unchanged blobs are shared with the backup before. It holds everything that was acknowledged before the command began, and keys: keep it as secret as the data. It is read again before it counts as complete. The exit code is 1 when a blob was damaged already.',
    )
    .addHelpText(
      'after',
      example(
        'satchel backup /mnt/backups',
        'satchel backup verify /mnt/backups',
        'satchel backup prune /mnt/backups --keep 7d,4w,12m',
      ),
    )
  backup.action(async (given, options) => {
    const target = await openTarget(given, options)
    using progress = showProgress(cli, options, 'bytes')
    const made = await interruptible(cli, (signal) =>
      inSession(cli, options, async (session) => {
        const { makeBackupIn } = await import('../control/kept-backups')
        const input = { database: options.db ?? null }
        const send: SendBackup = (streams) =>
          session.run('backup', input, { ...streams, signal, progress: progress.update })
        return await makeBackupIn(cli, target, send, signal)
      }),
    )
    progress[Symbol.dispose]()
    for (const warning of target.warnings) note(cli.terminal, warning)
    const { name, hash, bytes, written, databases } = made
    const result = {
      backup: name,
      target: target.name,
      sha256: hash,
      bytes,
      written,
      databases: databases.map((database) => ({ name: database.name, ...database.blobs })),
    }
    await print(cli, options, result, describe(made, target))
    requireUndamaged(made)
  })

  withTarget(backup.command('list'))
    .description('list the backups in a folder')
    .argument('<target>', 'the folder or bucket with backups')
    .option('--json', 'print JSON for programs')
    .addHelpText('after', example('satchel backup list /mnt/backups'))
    .action(async (given, options) => {
      const target = await openBackups(given, options)
      const { bytesOf, readManifestOf } = await import('../backups/contents')
      const data = []
      for (const backup of await target.list()) {
        const { manifest, hash } = await readManifestOf(target, backup)
        const bytes = bytesOf(manifest)
        const databases = manifest.databases.map(({ name }) => name)
        data.push({ backup, created: manifest.created, bytes, databases, sha256: hash })
      }
      const rows = data.map(({ backup, created, bytes, databases }) => [
        backup,
        minute(created),
        size(bytes),
        databases.join(', '),
      ])
      const headings = ['backup', 'begun', 'size', { mayCut: 'databases' }]
      const text = rows.length === 0 ? `There are no backups in ${target.name}` : undefined
      const shown = text ?? table(headings, rows, cli.terminal.outputWidth)
      await print(cli, options, { data }, shown)
    })

  withTarget(backup.command('verify'))
    .description('read a backup again, and compare everything with its manifest')
    .argument('<target>', 'the folder or bucket with backups')
    .argument('[backup]', 'the name of the backup (default: the newest)')
    .option('--all', 'all backups')
    .option('--json', 'print JSON for programs')
    .addHelpText('after', example('satchel backup verify /mnt/backups'))
    .action(async (given, name, options) => {
      const target = await openBackups(given, options)
      const names = options.all ? await target.list() : [await chooseBackup(target, name)]
      const { verifyBackup } = await import('../backups/verify')
      const { damageIn } = await import('../host/backup-target')
      using progress = showProgress(cli, options, 'bytes')
      const data = []
      for (const backup of names) {
        const update = (bytes: number) => progress.update(bytes, null, backup)
        const { hash, files, bytes, faults } = await verifyBackup(target, backup, {
          progress: update,
          damageIn,
        })
        data.push({ backup, sha256: hash, files, bytes, faults })
      }
      progress[Symbol.dispose]()
      const lines = data.map(({ backup, files, bytes, sha256, faults }) =>
        [
          `${backup}: read ${counted(files, 'file')} (${size(bytes)}), SHA-256 ${sha256}`,
          ...faults.map(({ path, problem }) => `  ${FAULTS[problem]}: ${path}`),
        ].join('\n'),
      )
      await print(cli, options, { data }, lines.join('\n'))
      const found = data.reduce((sum, { faults }) => sum + faults.length, 0)
      if (found === 0) return
      throw new SatchelError(
        'DAMAGED',
        `${counted(found, 'file')} of the backup ${found === 1 ? 'is not as it was' : 'are not as they were'} written: it will not be restored`,
      )
    })

  withTarget(backup.command('prune'))
    .description('remove old backups')
    .argument('<target>', 'the folder or bucket with backups')
    .requiredOption(
      '--keep <numbers>',
      'keep the last backup of each of so many days, weeks and months: 7d,4w,12m',
      retention,
    )
    .option('--dry-run', 'only say which')
    .option('--json', 'print JSON for programs')
    .addHelpText('after', example('satchel backup prune /mnt/backups --keep 7d,4w,12m'))
    .action(async (given, options) => {
      const target = await openBackups(given, options)
      const { keep, dryRun = false } = options
      const { prune } = await import('../backups/prune')
      const { removed, kept } = await prune(target, keep, dryRun)
      const verb = dryRun ? 'Would remove' : 'Removed'
      const names = removed.map((name) => `\n  ${name}`).join('')
      await print(
        cli,
        options,
        { removed, kept, dryRun },
        `${verb} ${counted(removed.length, 'backup')}, ${kept.length} kept${names}`,
      )
    })
}

export const FAULTS: Readonly<Record<BackupFault['problem'], string>> = {
  damaged: 'damaged',
  missing: 'missing',
  added: 'added by somebody',
  'no file': 'a link or no file',
}

/** The options of every command that works on backups. */
export function withTarget<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .option('--backup-key-file <file>', SETTINGS.backupKeyFile.help)
    .option('--backup-plain', SETTINGS.backupPlain.help)
}

interface TargetOptions {
  readonly config?: string | undefined
  readonly backupKeyFile?: string | undefined
  readonly backupPlain?: true | undefined
}

/** Opens a folder or a bucket with backups. */
export async function openTarget(
  given: string,
  { config: file, backupKeyFile, backupPlain }: TargetOptions,
): Promise<Target> {
  if (given === '')
    throw new UsageError('The target is empty: name a folder, or s3://bucket/prefix')
  const opening = await import('../backups/open')
  return opening.openTarget(given, readConfig({ file, flags: { backupKeyFile, backupPlain } }))
}

/** `openTarget` for one that is there. Throws `UsageError`; an empty bucket is one without backups. */
export async function openBackups(...where: Parameters<typeof openTarget>): Promise<Target> {
  const target = await openTarget(...where)
  const isMissing =
    target.fileOf !== undefined &&
    statSync(target.name, { throwIfNoEntry: false })?.isDirectory() !== true
  if (isMissing) throw new UsageError(`There is no folder ${target.name}`)
  return target
}

/** The backup of this name, or the newest. Throws `UsageError`. */
export async function chooseBackup(target: Target, name: string | undefined): Promise<string> {
  const names = await target.list()
  const chosen = name === undefined ? names.at(-1) : names.find((known) => known === name)
  if (chosen !== undefined) return chosen
  throw new UsageError(
    name === undefined
      ? `There is no complete backup in ${target.name}`
      : `There is no complete backup ${name} in ${target.name}: satchel backup list shows them`,
  )
}

/** Ends the work at Ctrl-C: nothing is left of a backup that is not complete. */
async function interruptible<T>(
  { terminal }: Cli,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const interrupt = new AbortController()
  using _ = terminal.onInterrupt(() => interrupt.abort())
  try {
    return await work(interrupt.signal)
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    throw new Interruption('The backup was interrupted, and nothing is left of it')
  }
}

function describe({ name, hash, bytes, written, databases }: MadeBackup, target: Target): string {
  const blobs = databases.reduce((sum, { blobs }) => sum + blobs.count, 0)
  const shared =
    written < bytes ? `, ${size(bytes - written)} of it shared with the one before` : ''
  return [
    `Backed up ${counted(databases.length, 'database')} with ${counted(blobs, 'blob')} (${size(bytes)}${shared})`,
    `Backup          ${name} in ${target.name}`,
    `SHA-256         ${hash}`,
  ].join('\n')
}

/** Throws `BLOB_DAMAGED`, after a backup that is whole but for blobs that were damaged before. */
function requireUndamaged({ databases }: MadeBackup): void {
  const damaged = databases.flatMap(({ name, blobs }) =>
    blobs.damaged.map((hash) => `\n  ${hash} of ${name}`),
  )
  if (damaged.length === 0) return
  throw new SatchelError(
    'BLOB_DAMAGED',
    `The backup is complete, except for ${counted(damaged.length, 'blob')} whose bytes were damaged already (satchel blob verify lists them):${damaged.join('')}`,
  )
}

function retention(text: string): Retention {
  const parsed = parseRetention(text)
  if (parsed !== undefined) return parsed
  throw new InvalidArgumentError('it must be numbers of days, weeks and months, such as 7d,4w,12m.')
}
