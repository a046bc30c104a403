import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { UsageError } from '../config/config'
import type { OutputOf } from '../control/operations'
import { NEW_USERS, type Policy } from '../domain/user/policy'
import { carryOut, type Cli, number, tell, withDatabase } from './command'
import { isoTime, print, shownOnce } from './output'

/**
 * `satchel policy show|set|test|rotate-secret`: the policy for newcomers to a database
 * (protocol.md §7, §13.1).
 */
export function addPolicyCommands(program: Command, cli: Cli): void {
  const policy = program.command('policy').description('the sign-up policy of a database')

  withDatabase(policy.command('show'), 'satchel policy show')
    .description('show the policy for people who log in for the first time')
    .action((options) => tell(cli, 'policy.show', options, describe))

  withDatabase(
    policy.command('set'),
    'satchel policy set --new-users eval --eval-days 14',
    'satchel policy set --new-users reject',
    'satchel policy set --seats 25',
    'satchel policy set --new-users webhook --hook-url https://app.example.com/new-user',
  )
    .description('change the policy; omitted options stay unchanged')
    .addOption(
      new Option(
        '--new-users <policy>',
        'prod or eval: their type; reject: no new users; webhook: ask the web hook',
      ).choices(NEW_USERS),
    )
    .option('--eval-days <number>', 'the length of an evaluation in days', number)
    .option(
      '--seats <number>',
      'the maximum number of active prod users, or none for no limit',
      seats,
    )
    .option('--hook-url <url>', 'the address of the web hook, or none')
    .action(async (options) => {
      const { newUsers, evalDays, seats, hookUrl } = options
      if ([newUsers, evalDays, seats, hookUrl].every((field) => field === undefined)) {
        throw new UsageError('Nothing to change: give an option, for instance --new-users eval')
      }
      const changed = await carryOut(cli, 'policy.set', options)
      const { hookSecret } = changed
      const secret = hookSecret === undefined ? [] : [describeSecret(cli, hookSecret), TRY]
      await print(cli, options, changed, [describe(changed), ...secret].join('\n'))
    })

  withDatabase(policy.command('test'), 'satchel policy test someone@example.com')
    .description('call the web hook without creating a user')
    .argument('<email>', 'the e-mail address to send to the web hook')
    .action((email, options) =>
      tell(
        cli,
        'policy.test',
        { ...options, email },
        describeAnswer,
        ({ duration: durationMs, ...answer }) => ({ ...answer, durationMs }),
      ),
    )

  withDatabase(policy.command('rotate-secret'), 'satchel policy rotate-secret')
    .description('replace the secret that signs requests to the web hook')
    .option(
      '--days <number>',
      'the days during which the old one signs as well (default: 7)',
      number,
    )
    .action(async (options) => {
      const rotated = await carryOut(cli, 'policy.rotate-secret', options)
      const value = { ...rotated, oldSecretUntil: isoTime(rotated.oldSecretUntil) }
      const end = `The old secret signs as well until ${value.oldSecretUntil}`
      await print(cli, options, value, `${describeSecret(cli, rotated.hookSecret)}\n${end}`)
    })
}

const MEANINGS: Readonly<Record<Policy['newUsers'], string>> = {
  prod: 'become prod users',
  eval: 'start an evaluation',
  reject: 'are rejected: satchel user add creates users',
  webhook: 'are users if the web hook accepts them',
}

function describe({ newUsers, evalDays, seats, hookUrl }: Policy): string {
  const unused = newUsers === 'webhook' ? '' : ' (not used)'
  return [
    `New users       ${newUsers}: they ${MEANINGS[newUsers]}`,
    ...(hookUrl === null ? [] : [`Web hook        ${hookUrl}${unused}`]),
    `Evaluations     last ${evalDays} ${evalDays === 1 ? 'day' : 'days'}`,
    `Seats           ${seats ?? 'no limit'}`,
  ].join('\n')
}

const TRY = 'Test it with: satchel policy test someone@example.com'

function describeSecret(cli: Cli, secret: string): string {
  return `Hook secret     ${shownOnce(cli, secret, 'satchel policy rotate-secret')}`
}

function describeAnswer(answer: OutputOf<'policy.test'>): string {
  const { email, url, duration, action, data } = answer
  const outcome =
    action === 'reject' ? 'would be rejected' : `would become a user of type ${action}`
  return [
    `${url} answered within ${Math.ceil(duration)} ms`,
    `${email} ${outcome}`,
    ...(data === undefined ? [] : [`User data       ${JSON.stringify(data)}`]),
  ].join('\n')
}

function seats(text: string): number | 'none' {
  if (text === 'none') return 'none'
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('it must be a whole number, or none.')
}
