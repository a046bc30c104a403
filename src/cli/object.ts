import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { carryOut, type Cli, example, tell, whole, withDatabase } from './command'
import { counted, isoTime, print } from './output'
import { oneLine, table } from './table'

const SHOWN_OBJECTS = 200

/** `satchel object list|show|seers|delete`. */
export function addObjectCommands(program: Command, cli: Cli): void {
  const object = program.command('object').description('the objects of a database')

  withDatabase(object.command('list'))
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
    .addHelpText(
      'after',
      example(
        'satchel object list todoItems --newest',
        "satchel object list todoItems --filter 'done=false&title=milk'",
      ),
    )
    .action(async (name, { newest, after, limit, ...options }) => {
      const page = { table: name, newestFirst: newest === true, cursor: after, limit }
      const { objects, cursor } = await carryOut(cli, 'object.list', { ...options, ...page })
      const rows = objects.map(({ key, realmId, owner, updated, value }) => [
        key,
        realmId,
        owner ?? '',
        isoTime(updated),
        JSON.stringify(value),
      ])
      const headings = ['key', 'realm', 'owner', 'updated', { mayCut: 'value' }]
      const more = cursor === null ? '' : `\nThere are more: add --after '${cursor}'`
      const text = `${table(headings, rows, cli.terminal.outputWidth)}${more}`
      const data = objects.map((each) => ({ ...each, updated: isoTime(each.updated) }))
      await print(
        cli,
        options,
        { data, cursor },
        objects.length === 0 ? 'There are no objects' : text,
      )
    })

  withDatabase(object.command('show'))
    .description('show an object with its realm, its owner and its revision')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .addHelpText(
      'after',
      example('satchel object show todoItems milk', `satchel object show pairs '["a",1]'`),
    )
    .action((name, key, options) =>
      tell(cli, 'object.show', { ...options, table: name, key }, describe, (shown) => ({
        ...shown,
        updated: isoTime(shown.updated),
      })),
    )

  withDatabase(object.command('seers'))
    .description('list the users who see an object, with the row that is the reason')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .option('--after <cursor>', 'continue after the previous list')
    .addHelpText('after', example('satchel object seers todoItems milk'))
    .action(async (name, key, { after, ...options }) => {
      const input = { ...options, table: name, key, cursor: after }
      const seen = await carryOut(cli, 'object.seers', input)
      const { seers, ...rest } = seen
      await print(
        cli,
        options,
        { data: seers, ...rest },
        tableOfSeers(seen, cli.terminal.outputWidth),
      )
    })

  withDatabase(object.command('delete'))
    .description('delete an object')
    .argument('<table>', 'the name of a table')
    .argument('<key>', 'the key, a compound one as JSON')
    .option('--if-revision <number>', 'only if it has this revision still', whole(1))
    .addHelpText('after', example('satchel object delete todoItems milk'))
    .action((name, key, options) =>
      tell(
        cli,
        'object.delete',
        { ...options, table: name, key },
        () => `The object ${oneLine(key)} is deleted`,
      ),
    )
}

/** A property on each line, then the value. */
function describe(shown: OutputOf<'object.show'>): string {
  const lines = [
    ['Key', shown.key],
    ['Realm', shown.realmId],
    ['Owner', shown.owner ?? 'none'],
    ['Revision', `${shown.revision}`],
    ['Updated', isoTime(shown.updated)],
  ] as const
  const properties = lines.map(([name, value]) => `${name.padEnd(16)}${oneLine(value)}`)
  const value = JSON.stringify(shown.value, null, 2).split('\n').map(oneLine)
  return [...properties, '', ...value].join('\n')
}

function tableOfSeers({ isPublic, seers, cursor }: OutputOf<'object.seers'>, width?: number) {
  if (isPublic) return 'Everybody sees it: it is in the public realm'
  if (seers.length === 0) return 'No user sees it'
  const rows = seers.map(({ userId, by, row, roles, mayUpdate, mayDelete }) => [
    userId,
    by,
    row ?? '',
    roles.join(', '),
    [mayUpdate ? 'update' : '', mayDelete ? 'delete' : ''].filter(Boolean).join(', '),
  ])
  const more = cursor === null ? '' : `\nThere are more: add --after '${oneLine(cursor)}'`
  return `${table(['user', 'by', 'row', 'roles', 'may'], rows, width)}${more}\n${counted(seers.length, 'membership')}`
}
