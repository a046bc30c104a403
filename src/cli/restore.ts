import type { Command } from '@commander-js/extra-typings'
import { basename, resolve } from 'node:path'
import type { Target } from '../backups/target'
import type { BackupCheck } from '../backups/verify'
import { readConfig, UsageError } from '../config/config'
import type { ErasedUser } from '../domain/store/copy'
import { SatchelError } from '../domain/value/error'
import { chooseBackup, FAULTS, openBackups, withTarget } from './backup'
import { type Cli, example, inSession, withFolder } from './command'
import { counted, note, print, showProgress } from './output'

/** `satchel restore`. */
export function addRestoreCommand(program: Command, cli: Cli): void {
  withTarget(withFolder(program.command('restore')))
    .description('make a data folder of a backup, or one of its databases a new one beside others')
    .argument('<backup>', 'the folder of the backup, or s3://bucket/prefix/<backup>')
    .option('--as <name>', 'as a new database of the data folder, also while a server runs')
    .option('--db <name>', 'the database of the backup, with --as, where it has several')
    .option('--revoke-logins', 'end all logins: everybody logs in again')
    .addHelpText(
      'after',
      '\nEverything is compared with the manifest before anything is written. Without --as the data folder must be absent or empty. Changes made after the backup are gone on all devices too, when they sync; changes that they had not sent arrive. Logins that were ended after the backup are valid again unless --revoke-logins is given; one-time codes and queued mails are not restored.',
    )
    .addHelpText(
      'after',
      example(
        'satchel restore /mnt/backups/2030-01-31T02-30-00Z --data /var/lib/satchel',
        'satchel restore /mnt/backups/2030-01-31T02-30-00Z --as old',
      ),
    )
    .action(async (given, options) => {
      const { as: name, db, revokeLogins: revokesLogins = false } = options
      if (db !== undefined && name === undefined) {
        throw new UsageError('--db needs --as: without it all databases of the backup are restored')
      }
      const { target, backup } = await openBackup(given, options)
      using progress = showProgress(cli, options, 'bytes')
      const check = await requireWhole(target, backup, (bytes) =>
        progress.update(bytes, null, 'Checking'),
      )
      const databases = check.manifest.databases.map(({ name }) => name)
      const { readLaterErasures } = await import('../backups/erased')
      const { usersById, unread } = await readLaterErasures(target, backup)
      const source = { target, backup, manifest: check.manifest, usersById }
      const restored =
        name === undefined
          ? await restoreAll(cli, options, source, revokesLogins)
          : await restoreAs(cli, options, source, { name, db, revokesLogins })
      progress[Symbol.dispose]()
      for (const later of unread) {
        note(
          cli.terminal,
          `The later backup ${later} cannot be read: users who were deleted before it may be back, so look at them with satchel user list`,
        )
      }
      const { created } = check.manifest
      const what =
        name === undefined ? counted(databases.length, 'database') : `The database ${name}`
      await print(
        cli,
        options,
        { backup, created, ...restored },
        `${what} as of ${created}: restored from ${backup}\n${erasures(restored)}${consequences(revokesLogins)}`,
      )
    })
}

/** A backup, and the users that later backups of its target name as deleted, by the id of their database. */
interface Source {
  readonly target: Target
  readonly backup: string
  readonly manifest: BackupCheck['manifest']
  readonly usersById: ReadonlyMap<string, readonly ErasedUser[]>
}

function erasures({ erasedUsers }: { readonly erasedUsers: number }): string {
  if (erasedUsers === 0) return ''
  return `${counted(erasedUsers, 'user')} deleted after the backup, by the list of a later one: deleted again\n`
}

function consequences(revokesLogins: boolean): string {
  return revokesLogins
    ? 'Everybody logs in again'
    : 'Logins that were ended after the backup are valid again: satchel restore --revoke-logins ends all'
}

/** `given` is a path, or `s3://bucket/prefix/<backup>`. */
async function openBackup(given: string, options: Parameters<typeof openBackups>[1]) {
  const path = given.startsWith('s3://') ? given.replace(/\/$/, '') : resolve(given)
  const target = await openBackups(path.slice(0, path.lastIndexOf('/')) || '/', options)
  return { target, backup: await chooseBackup(target, basename(path)) }
}

/** Throws `DAMAGED`, with the names of the files. */
async function requireWhole(
  target: Target,
  backup: string,
  progress: (bytes: number) => void,
): Promise<BackupCheck> {
  const { verifyBackup } = await import('../backups/verify')
  const check = await verifyBackup(target, backup, { progress })
  if (check.faults.length === 0) return check
  const names = check.faults.map(({ path, problem }) => `\n  ${FAULTS[problem]}: ${path}`)
  throw new SatchelError(
    'DAMAGED',
    `Nothing was restored: the backup is not as it was written.${names.join('')}`,
  )
}

/** Without a server: the data folder is absent or empty. */
async function restoreAll(
  { clock }: Cli,
  { data, config: file }: { data?: string | undefined; config?: string | undefined },
  { target, backup, manifest, usersById }: Source,
  revokesLogins: boolean,
) {
  const config = { ...readConfig({ file, flags: { data } }), memory: false }
  const [{ requireRestorable, restoreFolder }, { takeFolder }, { readWhole, sendDatabase }] =
    await Promise.all([
      import('../host/restore'),
      import('../host/folder'),
      import('../backups/read'),
    ])
  requireRestorable(config.data)
  using folder = takeFolder(config)
  if (folder === undefined) {
    throw new SatchelError(
      'DATA_FOLDER_IN_USE',
      `The data folder ${config.data} is in use: stop its server first`,
    )
  }
  const { files } = manifest
  const databases = manifest.databases.map((database) => ({
    name: database.name,
    frames: () =>
      sendDatabase(target, backup, database, files, usersById.get(database.facts.id) ?? []),
  }))
  const server = files.find(({ path }) => path === 'server.sqlite')
  const serverFile = server === undefined ? null : readWhole(target, backup, server)
  const { secretKey } = config
  const restore = { secretKey, revokesLogins, clock }
  const erasedUsers = await restoreFolder(folder.path, databases, serverFile, restore)
  return { folder: folder.path, databases: databases.map(({ name }) => name), erasedUsers }
}

/** Through the server of the data folder, if one runs. */
async function restoreAs(
  cli: Cli,
  options: { data?: string | undefined; config?: string | undefined },
  { target, backup, manifest, usersById }: Source,
  { name, db, revokesLogins }: { name: string; db: string | undefined; revokesLogins: boolean },
) {
  const { sendDatabase, streamOf } = await import('../backups/read')
  const { databases, files } = manifest
  const database =
    databases.find((each) => each.name === db) ??
    (db === undefined && databases.length === 1 ? databases[0] : undefined)
  if (database === undefined) {
    const names = databases.map((each) => each.name).join(', ')
    throw new UsageError(`Choose a database of the backup with --db: it has ${names}`)
  }
  const erased = usersById.get(database.facts.id) ?? []
  const upload = streamOf(sendDatabase(target, backup, database, files, erased))
  return await inSession(
    cli,
    options,
    (session) => session.run('backup.restore', { name, revokeLogins: revokesLogins }, { upload }),
    { makesFolder: true },
  )
}
