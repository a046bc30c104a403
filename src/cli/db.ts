import type { Command } from '@commander-js/extra-typings'
import { UsageError } from '../config/config'
import { type Cli, example, inSession, withDatabase, withFolder } from './command'
import { credentials, print } from './output'
import { table } from './table'

/** `satchel db create|list|address|offload|adopt|delete`. */
export function addDatabaseCommands(program: Command, cli: Cli): void {
  const db = program.command('db').description('the databases of a data folder')

  withFolder(db.command('create'))
    .description('create a database and its first client, which has all scopes')
    .argument('<name>', 'a to z, 0 to 9 and -, beginning with a letter')
    .addHelpText('after', example('satchel db create todo'))
    .action(async (name, options) => {
      const created = await inSession(
        cli,
        options,
        (session) => session.run('db.create', { name }),
        { makesFolder: true },
      )
      const address = created.url === null ? '' : `Address         ${created.url}\n`
      await print(cli, options, created, `${address}${credentials(cli, created.client)}`)
    })

  withFolder(db.command('list'))
    .description('list the databases')
    .addHelpText('after', example('satchel db list'))
    .action(async (options) => {
      const databases = await inSession(cli, options, (session) => session.run('db.list', {}))
      const rows = databases.map(({ name, url }) => [
        name,
        url ?? (['yellow', 'not served'] as const),
      ])
      await print(
        cli,
        options,
        { data: databases },
        table(['name', 'address'], rows, cli.terminal.outputWidth),
      )
    })

  withFolder(db.command('address'))
    .description('show or set the public address of a database')
    .argument('<name>', 'its name')
    .argument('[url]', 'its own public address, if it differs from that of the server')
    .option('--reset', 'use the address of the server')
    .addHelpText(
      'after',
      example('satchel db address todo', 'satchel db address todo https://todo.example.com'),
    )
    .action(async (name, url, options) => {
      const { reset = false } = options
      const found = await inSession(cli, options, (session) =>
        session.run('db.address', { database: name, url: url ?? null, reset }),
      )
      await print(cli, options, found, found.address ?? 'unknown: serve with --public-url')
    })

  withFolder(db.command('offload'))
    .description('show or set which values in objects become blobs')
    .argument('<name>', 'its name')
    .argument('[size]', 'values larger than this many bytes, clients (as clients offload), or off')
    .option('--reset', 'use the setting of the server: satchel serve --offload-beyond')
    .addHelpText(
      'after',
      '\nLarger files, binary values and texts in objects are then stored as blobs, and read back as BlobRefs. Keys, indexed properties and imported objects are not changed.',
    )
    .addHelpText('after', example('satchel db offload todo', 'satchel db offload todo clients'))
    .action(async (name, size, options) => {
      const { reset = false } = options
      const found = await inSession(cli, options, (session) =>
        session.run('db.offload', { database: name, rule: size ?? null, reset }),
      )
      const { beyond, isOwn } = found
      const sentence = `${OFFLOADED[beyond] ?? `larger than ${beyond} bytes`}${isOwn ? '' : ' (set by the server)'}`
      await print(cli, options, found, sentence)
    })

  withFolder(db.command('adopt'))
    .description('make the copy of a database folder beside the original a database of its own')
    .argument('<name>', 'the name of the copied folder')
    .addHelpText(
      'after',
      '\nIt gets a new id, epoch and signing keys; its logins, codes and queued mails are removed. Clients keep their secrets: satchel client rotate replaces one.',
    )
    .addHelpText('after', example('satchel db adopt staging'))
    .action(async (name, options) => {
      const adopted = await inSession(cli, options, (session) => session.run('db.adopt', { name }))
      await print(cli, options, adopted, `The database ${name} has an identity of its own`)
    })

  withFolder(db.command('delete'))
    .description('delete a database and everything in it; this cannot be undone')
    .argument('<name>', 'its name')
    .option('--yes', 'do not ask')
    .addHelpText('after', example('satchel db delete todo', 'satchel db delete todo --yes'))
    .action(async (name, options) => {
      if (!options.yes) await confirm(cli, name)
      const deleted = await inSession(
        cli,
        options,
        (session) => session.run('db.delete', { database: name }),
        { isDestructive: true },
      )
      await print(cli, options, deleted, `The database ${name} is deleted`)
    })

  withFolder(db.command('undelete'))
    .description('take back a deletion by dexie-cloud delete, within 30 days')
    .argument('<name>', 'its name')
    .addHelpText('after', example('satchel db undelete todo'))
    .action(async (name, options) => {
      const result = await inSession(cli, options, (session) =>
        session.run('db.undelete', { database: name }),
      )
      const words = result.wasDeleted ? 'is not deleted any more' : 'was not deleted'
      await print(cli, options, result, `The database ${name} ${words}`)
    })
}

const OFFLOADED: Readonly<Record<string, string>> = { off: 'off', clients: 'as clients offload' }

async function confirm({ terminal }: Cli, name: string): Promise<void> {
  if (!terminal.canAsk) {
    throw new UsageError(`Nothing was deleted: repeat with --yes to delete the database ${name}`)
  }
  const answer = await terminal.ask(
    `This deletes every object, user and key of ${name}. Type its name to continue: `,
  )
  if (answer.trim() !== name) throw new UsageError('Nothing was deleted: the name does not match')
}

/** `satchel origin add|remove|list`: the pages that may call a database (protocol.md §11). */
export function addOriginCommands(program: Command, cli: Cli): void {
  const origin = program.command('origin').description('the web pages that may use a database')

  withDatabase(origin.command('add'))
    .description('allow the pages of an origin to use the database')
    .argument(
      '<origin>',
      'https://app.example.com, capacitor://localhost, app://my.app, app:Name or myapp:',
    )
    .option('--force', 'allow http beyond this machine')
    .addHelpText('after', example('satchel origin add https://app.example.com'))
    .action(async (given, options) => {
      const { db: database, force = false } = options
      const added = await inSession(cli, options, (session) =>
        session.run('origin.add', { database, origin: given, force }),
      )
      await print(cli, options, added, `Pages of ${added.origin} may use the database ${database}`)
    })

  withDatabase(origin.command('remove'))
    .description('remove an origin from the list')
    .argument('<origin>', 'as satchel origin list shows it')
    .addHelpText('after', example('satchel origin remove https://app.example.com'))
    .action(async (given, options) => {
      const { db: database } = options
      const { removed } = await inSession(cli, options, (session) =>
        session.run('origin.remove', { database, origin: given }),
      )
      const text = removed ? `${given} is removed` : `${given} was not listed`
      await print(cli, options, { origin: given, removed }, text)
    })

  withDatabase(origin.command('list'))
    .description('list the origins')
    .addHelpText('after', example('satchel origin list'))
    .action(async (options) => {
      const origins = await inSession(cli, options, (session) =>
        session.run('origin.list', { database: options.db }),
      )
      const data = origins.map((each) => ({ origin: each }))
      await print(cli, options, { data }, origins.join('\n') || 'No origin is listed')
    })
}
