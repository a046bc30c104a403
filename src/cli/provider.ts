import type { Command } from '@commander-js/extra-typings'
import { SatchelError } from '../domain/value/error'
import type { OutputOf } from '../control/operations'
import { carryOut, type Cli, items, tell, withDatabase } from './command'
import { openInput } from './files'
import { isoTime, print } from './output'
import { table } from './table'
import { PROVIDER_TYPES } from '../domain/store/records'

/** `satchel provider add|list|remove|test`: the login providers of a database (spec.md §2.4). */
export function addProviderCommands(program: Command, cli: Cli): void {
  const provider = program
    .command('provider')
    .description('the login providers of a database: Google, Microsoft, GitHub, Apple, OpenID')

  addAddCommand(provider, cli)

  withDatabase(provider.command('list'), 'satchel provider list')
    .description('list the providers')
    .action((options) =>
      tell(cli, 'provider.list', options, tableOf, (providers) => ({
        data: providers.map((each) => ({ ...each, created: isoTime(each.created) })),
      })),
    )

  withDatabase(provider.command('remove'), 'satchel provider remove google')
    .description('remove a provider, so that users cannot log in with it')
    .argument('<name>', 'as satchel provider list shows it')
    .action((name, options) =>
      tell(cli, 'provider.remove', { ...options, name }, () => {
        return `Logins with ${name} are no longer possible`
      }),
    )

  withDatabase(provider.command('test'), 'satchel provider test google')
    .description('test whether a provider accepts the client id and secret')
    .argument('<name>', 'as satchel provider list shows it')
    .action(async (name, options) => {
      const check = await carryOut(cli, 'provider.test', { ...options, name })
      await print(cli, options, check, reportOf(name, check))
      if (check.client === 'accepted') return
      throw new SatchelError(
        'PROVIDER_FAILED',
        `${name} rejects the client id or secret (${check.answer})`,
      )
    })
}

function addAddCommand(provider: Command, cli: Cli): void {
  withDatabase(
    provider.command('add'),
    'satchel provider add google --client-id 1234.apps.googleusercontent.com',
    'satchel provider add custom-oauth2 --name acme --issuer https://login.acme.example --client-id todo',
  )
    .description('add a login provider, or change it')
    .argument('<type>', PROVIDER_TYPES.join(', '))
    .requiredOption('--client-id <id>', 'the client id of this database at the provider')
    .option(
      '--secret-file <file>',
      'a file with the client secret, or with the private key from Apple (.p8); - for standard input',
    )
    .option('--public', 'the provider issued no secret')
    .option('--name <name>', 'its name in addresses (default: its type)')
    .option('--display-name <text>', 'the text of its button')
    .option('--icon <url>', 'a picture for its button')
    .option('--scopes <list>', 'the scopes to request', items)
    .option('--tenant <tenant>', 'Microsoft: a tenant, or common, organizations or consumers')
    .option('--team-id <id>', 'Apple: the team')
    .option('--key-id <id>', 'Apple: the id of the private key')
    .option('--issuer <url>', 'the issuer, which has an OpenID discovery document')
    .option('--authorization-url <url>', 'without a discovery document: its login page')
    .option('--token-url <url>', 'without a discovery document: its token endpoint')
    .option('--user-info-url <url>', 'without a discovery document: its user info endpoint')
    .option('--trust-email', 'accept its e-mail addresses although it does not report verification')
    .action(async (type, options) => {
      const {
        icon: iconUrl,
        trustEmail: trustsEmail,
        secretFile,
        public: isPublic,
        ...rest
      } = options
      const upload = isPublic ? undefined : await readSecret(cli, secretFile)
      const input = { ...rest, type, iconUrl, trustsEmail }
      const added = await carryOut(cli, 'provider.add', input, { streams: { upload } })
      const value = { ...added, created: isoTime(added.created) }
      await print(cli, options, value, nextSteps(options.db, added))
    })
}

function tableOf(providers: OutputOf<'provider.list'>, width?: number): string {
  const headings = ['name', 'type', { mayCut: 'shown as' }, 'client id', 'callback address']
  const rows = providers.map(({ name, type, displayName, clientId, callbackUrl }) => {
    return [name, type, displayName, clientId, callbackUrl ?? '']
  })
  return table(headings, rows, width)
}

/** Never from the command line itself, which everyone on the machine can read. */
async function readSecret(cli: Cli, file: string | undefined): Promise<ReadableStream<Uint8Array>> {
  const { terminal } = cli
  if (file !== undefined) return openInput(cli, file).bytes
  if (!terminal.canAsk) return terminal.input()
  return new Blob([await terminal.askSecret('Client secret, which is not shown: ')]).stream()
}

function nextSteps(database: string, added: OutputOf<'provider.add'>): string {
  const { name, displayName, callbackUrl } = added
  const callback = callbackUrl ?? `<public address of ${database}>/oauth/callback/${name}`
  return [
    `Users can log in with ${displayName} after this callback address is registered there:`,
    `  ${callback}`,
    `satchel provider test ${name} tests the client id and secret`,
  ].join('\n')
}

function reportOf(name: string, check: OutputOf<'provider.test'>): string {
  const { issuer, authorizationUrl, client, callbackUrl } = check
  return [
    `Issuer             ${issuer}`,
    `Login page         ${authorizationUrl ?? 'none'}`,
    `Callback address   ${callbackUrl ?? 'unknown: set --public-url'}`,
    ...(client === 'accepted' ? [`${name} accepts the client id and secret`] : []),
  ].join('\n')
}
