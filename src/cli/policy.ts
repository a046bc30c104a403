import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { NEW_USERS, type Policy } from '../domain/policy'
import { number } from './arguments'
import { type Cli, example, inSession, withDatabase } from './command'
import { print } from './output'

/** `satchel policy show|set`: what happens to people whom a database does not know (protocol.md §7). */
export function addPolicyCommands(program: Command, cli: Cli): void {
  const policy = program.command('policy').description('who becomes a user of a database')

  withDatabase(policy.command('show'))
    .description('show what happens to people who log in for the first time')
    .addHelpText('after', example('satchel policy show'))
    .action(async (options) => {
      const found = await inSession(cli, options, (session) =>
        session.run('policy.show', { database: options.db }),
      )
      await print(cli, options, found, describe(found))
    })

  withDatabase(policy.command('set'))
    .description('change it; what is not named stays')
    .addOption(
      new Option('--new-users <what>', 'what they become, or who decides that').choices(NEW_USERS),
    )
    .option('--eval-days <number>', 'how many days an evaluation lasts', number)
    .option('--seats <number>', 'how many active prod users there may be, or none for any', seats)
    .addHelpText(
      'after',
      example(
        'satchel policy set --new-users eval --eval-days 14',
        'satchel policy set --new-users reject',
        'satchel policy set --seats 25',
      ),
    )
    .action(async (options) => {
      const { db: database, newUsers = null, evalDays = null, seats = null } = options
      const changed = await inSession(cli, options, (session) =>
        session.run('policy.set', { database, newUsers, evalDays, seats }),
      )
      await print(cli, options, changed, describe(changed))
    })
}

const MEANINGS: Readonly<Record<Policy['newUsers'], string>> = {
  prod: 'become users',
  eval: 'may evaluate',
  reject: 'are rejected: satchel user add makes users',
  webhook: 'are what the web hook says',
}

function describe({ newUsers, evalDays, seats }: Policy): string {
  return [
    `New people      ${newUsers}: they ${MEANINGS[newUsers]}`,
    `Evaluations     last ${evalDays} ${evalDays === 1 ? 'day' : 'days'}`,
    `Seats           ${seats ?? 'any number'}`,
  ].join('\n')
}

function seats(text: string): number | 'none' {
  if (text === 'none') return 'none'
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('a whole number is needed, or none.')
}
