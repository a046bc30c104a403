import type { Command } from '@commander-js/extra-typings'
import { SatchelError } from '../domain/value/error'
import type { OutputOf } from '../control/operations'
import { carryOut, type Cli, example, withDatabase } from './command'
import { counted, print } from './output'
import { table } from './table'

/** `satchel verify` (promises.md 3). */
export function addVerifyCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('verify'))
    .description('look for damage in a database: rows, indexes, rights and references to blobs')
    .option(
      '--accept',
      'accept rows as they are now, after they were changed by hand with SQL: they get new checksums, and the indexes and rights that follow from them',
    )
    .addHelpText(
      'after',
      '\nWorks beside a running server, which serves others meanwhile. The exit code is 1 when there is damage: a damaged object can be replaced or deleted, and is left out of exports. The bytes of blobs are checked by satchel blob verify.',
    )
    .addHelpText('after', example('satchel verify', 'satchel verify --accept'))
    .action(async (options) => {
      const found = await carryOut(cli, 'verify', options, { progressIn: 'rows' })
      await print(cli, options, found, describe(found, cli.terminal.outputWidth))
      if (found.found === 0) return
      throw new SatchelError(
        'DAMAGED',
        options.accept
          ? `${counted(found.found, 'problem')} cannot be accepted: replace or delete these rows, or restore a backup`
          : `The database ${options.db} has ${counted(found.found, 'problem')}: replace or delete these rows, restore a backup, or accept changes that were made by hand with satchel verify --accept`,
      )
    })
}

/** How many problems are printed without `--json`. */
const PRINTED_FAULTS = 100

function describe({ checked, found, faults }: OutputOf<'verify'>, width?: number): string {
  const rows = faults
    .slice(0, PRINTED_FAULTS)
    .map(({ problem, table, key }) => [problem, table, key])
  return [
    `Checked ${counted(checked, 'row')}`,
    ...(rows.length === 0 ? [] : [table(['problem', 'table', 'key'], rows, width)]),
    ...(found > rows.length ? [`and ${counted(found - rows.length, 'more problem')}`] : []),
    ...(found === 0 ? ['No problems were found'] : []),
  ].join('\n')
}
