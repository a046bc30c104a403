import type { Command } from '@commander-js/extra-typings'
import { carryOut, type Cli, confirm, example, tell, withDatabase, withFolder } from './command'
import { credentials, isoTime, minute, print, size } from './output'
import { table } from './table'

/** `satchel db create|list|address|offload|adopt|compact|delete|undelete`. */
export function addDatabaseCommands(program: Command, cli: Cli): void {
  const db = program.command('db').description('the databases of a data folder')

  withFolder(db.command('create'), 'satchel db create todo')
    .description('create a database and its first client, which has all scopes')
    .argument('<name>', 'a to z, 0 to 9 and -, beginning with a letter')
    .action(async (name, options) => {
      const made = { makesFolder: true }
      const created = await carryOut(cli, 'db.create', { ...options, name }, made)
      const address = created.url === null ? '' : `Address         ${created.url}\n`
      await print(cli, options, created, `${address}${credentials(cli, created.client)}`)
    })

  withFolder(db.command('list'), 'satchel db list')
    .description('list the databases')
    .action((options) =>
      tell(
        cli,
        'db.list',
        options,
        (databases, width) => {
          const rows = databases.map(({ name, url }) => [name, url ?? NOT_SERVED])
          return table(['name', 'address'], rows, width)
        },
        (data) => ({ data }),
      ),
    )

  withFolder(
    db.command('address'),
    'satchel db address todo',
    'satchel db address todo https://todo.example.com',
  )
    .description('show or set the public address of a database')
    .argument('<name>', 'its name')
    .argument('[url]', 'its own public address, if it differs from that of the server')
    .option('--reset', 'use the address of the server')
    .action((db, url, options) =>
      tell(cli, 'db.address', { ...options, db, url }, ({ address }) => {
        return address ?? 'unknown: serve with --public-url'
      }),
    )

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
    .action((db, rule, options) =>
      tell(cli, 'db.offload', { ...options, db, rule }, ({ beyond, isOwn }) => {
        const source = isOwn ? '' : ' (set by the server)'
        return `${OFFLOADED[beyond] ?? `larger than ${beyond} bytes`}${source}`
      }),
    )

  withFolder(db.command('adopt'))
    .description('make the copy of a database folder beside the original a database of its own')
    .argument('<name>', 'the name of the copied folder')
    .addHelpText(
      'after',
      '\nIt gets a new id, epoch and signing keys; its logins, codes and queued mails are removed. Clients keep their secrets: satchel client rotate replaces one.',
    )
    .addHelpText('after', example('satchel db adopt staging'))
    .action((name, options) =>
      tell(cli, 'db.adopt', { ...options, name }, () => {
        return `The database ${name} has an identity of its own`
      }),
    )

  withFolder(db.command('compact'))
    .description('write the files of a database anew, so that nothing is left of removed objects')
    .argument('<name>', 'its name')
    .addHelpText(
      'after',
      '\nErasures that are under way are finished first. Takes as much room again as the database meanwhile, during which a running server answers its requests with 503; other databases are served. Freed blocks of the disk, snapshots, copies from before an upgrade and backups keep what they had.',
    )
    .addHelpText('after', example('satchel db compact todo'))
    .action(async (name, options) => {
      const input = { ...options, name }
      const found = await carryOut(cli, 'db.compact', input, { progressIn: 'bytes' })
      const oldCopies = found.oldCopies.map((copy) => ({ ...copy, made: isoTime(copy.made) }))
      const left = oldCopies.map(
        ({ file, bytes, made }) => `\n  ${file} (${size(bytes)}, of ${minute(made)})`,
      )
      const copies =
        left.length === 0
          ? ''
          : `\nCopies from before an upgrade keep what they had, and are removed after 30 days:${left.join('')}`
      await print(
        cli,
        options,
        { ...found, oldCopies },
        `The database ${name} is written anew: ${size(found.after)}, before ${size(found.before)}${copies}`,
      )
    })

  withFolder(db.command('delete'), 'satchel db delete todo', 'satchel db delete todo --yes')
    .description('delete a database and everything in it; this cannot be undone')
    .argument('<name>', 'its name')
    .option('--yes', 'do not ask')
    .action(async (db, options) => {
      const question = `This deletes every object, user and key of ${db}. Type its name`
      const asked = { what: 'the database', called: 'the name', question }
      if (!options.yes) await confirm(cli, db, asked)
      const careful = { isDestructive: true }
      const deleted = await carryOut(cli, 'db.delete', { ...options, db, hard: true }, careful)
      await print(cli, options, { name: deleted.name }, `The database ${db} is deleted`)
    })

  withFolder(db.command('undelete'), 'satchel db undelete todo')
    .description('take back a deletion by dexie-cloud delete, within 30 days')
    .argument('<name>', 'its name')
    .action((db, options) =>
      tell(cli, 'db.undelete', { ...options, db }, ({ wasDeleted }) => {
        return `The database ${db} ${wasDeleted ? 'is not deleted any more' : 'was not deleted'}`
      }),
    )
}

const NOT_SERVED = ['yellow', 'not served'] as const

const OFFLOADED: Readonly<Record<string, string>> = { off: 'off', clients: 'as clients offload' }

/** `satchel origin add|remove|list`: the pages that may call a database (protocol.md §11). */
export function addOriginCommands(program: Command, cli: Cli): void {
  const origin = program.command('origin').description('the web pages that may use a database')

  withDatabase(origin.command('add'), 'satchel origin add https://app.example.com')
    .description('allow the pages of an origin to use the database')
    .argument(
      '<origin>',
      'https://app.example.com, capacitor://localhost, app://my.app, app:Name or myapp:',
    )
    .option('--force', 'allow http beyond this machine')
    .action((origin, options) =>
      tell(cli, 'origin.add', { ...options, origin }, (added) => {
        return `Pages of ${added.origin} may use the database ${options.db}`
      }),
    )

  withDatabase(origin.command('remove'), 'satchel origin remove https://app.example.com')
    .description('remove an origin from the list')
    .argument('<origin>', 'as satchel origin list shows it')
    .action((origin, options) =>
      tell(cli, 'origin.remove', { ...options, origin }, ({ removed }) => {
        return removed ? `${origin} is removed` : `${origin} was not listed`
      }),
    )

  withDatabase(origin.command('list'), 'satchel origin list')
    .description('list the origins')
    .action((options) =>
      tell(
        cli,
        'origin.list',
        options,
        (origins) => origins.join('\n') || 'No origin is listed',
        (origins) => ({ data: origins.map((each) => ({ origin: each })) }),
      ),
    )
}
