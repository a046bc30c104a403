import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { type Cli, tell, whole, withDatabase } from './command'
import { counted, isoTime } from './output'
import { list, oneLine, properties } from './table'

const SHOWN_OBJECTS = 200

/** `satchel object list|show|seers|delete`. */
export function addObjectCommands(program: Command, cli: Cli): void {
  const object = program.command('object').description('the objects of a database')

  withDatabase(
    object.command('list'),
    'satchel object list todoItems --newest',
    "satchel object list todoItems --filter 'done=false&title=milk'",
  )
    .description('list the objects of a table')
    .argument('<table>', 'the name of a table')
    .option('--filter <query>', 'only objects with these values, as in the address of a list')
    .option('--search <text>', 'only objects with this text in their key or their JSON')
    .option('--prefix <text>', 'only keys that begin with this, in the order of keys')
    .option('--newest', 'the objects that were created last come first')
    .option(
      '--limit <number>',
      `the maximum number of objects, up to ${SHOWN_OBJECTS}`,
      whole(1),
      50,
    )
    .option('--after <cursor>', 'continue after the previous list')
    .action((name, { newest, after, ...options }) => {
      const page = { table: name, newestFirst: newest === true, cursor: after }
      return tell(cli, 'object.list', { ...options, ...page }, tableOf, ({ objects, cursor }) => ({
        data: objects.map((each) => ({ ...each, updated: isoTime(each.updated) })),
        cursor,
      }))
    })

  withDatabase(
    object.command('show'),
    'satchel object show todoItems milk',
    `satchel object show pairs '["a",1]'`,
  )
    .description('show an object with its realm, its owner and its revision')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .action((name, key, options) =>
      tell(cli, 'object.show', { ...options, table: name, key }, describe, (shown) => ({
        ...shown,
        updated: isoTime(shown.updated),
      })),
    )

  withDatabase(object.command('seers'), 'satchel object seers todoItems milk')
    .description('list the users who see an object, with the row that is the reason')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .option('--after <cursor>', 'continue after the previous list')
    .action((name, key, { after, ...options }) => {
      const input = { ...options, table: name, key, cursor: after }
      return tell(cli, 'object.seers', input, tableOfSeers, ({ seers: data, ...rest }) => {
        return { data, ...rest }
      })
    })

  withDatabase(object.command('delete'), 'satchel object delete todoItems milk')
    .description('delete an object')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .option('--if-revision <number>', 'only if it has this revision still', whole(1))
    .action((name, key, options) =>
      tell(
        cli,
        'object.delete',
        { ...options, table: name, key },
        () => `The object ${oneLine(key)} is deleted`,
      ),
    )
}

function tableOf({ objects, cursor }: OutputOf<'object.list'>, width?: number): string {
  const rows = objects.map(({ key, realmId, owner, updated, value }) => {
    return [key, realmId, owner ?? '', isoTime(updated), JSON.stringify(value)]
  })
  const headings = ['key', 'realm', 'owner', 'updated', { mayCut: 'value' }]
  return list(headings, rows, { none: 'There are no objects', cursor, width })
}

/** A property on each line, then the value. */
function describe(shown: OutputOf<'object.show'>): string {
  const lines = properties([
    ['Key', shown.key],
    ['Realm', shown.realmId],
    ['Owner', shown.owner ?? 'none'],
    ['Revision', `${shown.revision}`],
    ['Updated', isoTime(shown.updated)],
  ])
  const value = JSON.stringify(shown.value, null, 2).split('\n').map(oneLine)
  return [lines, '', ...value].join('\n')
}

function tableOfSeers({ isPublic, seers, cursor }: OutputOf<'object.seers'>, width?: number) {
  if (isPublic) return 'Everybody sees it: it is in the public realm'
  const rows = seers.map(({ userId, by, row, roles, mayUpdate, mayDelete }) => [
    userId,
    by,
    row ?? '',
    roles.join(', '),
    [mayUpdate ? 'update' : '', mayDelete ? 'delete' : ''].filter(Boolean).join(', '),
  ])
  const headings = ['user', 'by', 'row', 'roles', 'may']
  const seen = list(headings, rows, { none: 'No user sees it', cursor, width })
  return seers.length === 0 ? seen : `${seen}\n${counted(seers.length, 'membership')}`
}
