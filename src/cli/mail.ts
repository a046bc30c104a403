import { type Command, Option } from '@commander-js/extra-typings'
import { UsageError } from '../config/config'
import type { OutputOf } from '../control/operations'
import { holdsSecret } from '../mail/address'
import { variableNames } from '../mail/samples'
import { carryOut, type Cli, example, tell, withDatabase } from './command'
import { openInput, readText } from './files'
import { print, shownOnce } from './output'
import { table } from './table'

/** `satchel mail show|set|reset|test`: how the mails of a database are sent. */
export function addMailCommands(program: Command, cli: Cli): void {
  const mail = program.command('mail').description('how the mails of a database are sent')

  withDatabase(mail.command('show'), 'satchel mail show')
    .description('show the mail server and the sender')
    .action((options) => tell(cli, 'mail.show', options, describe, valueOf))

  withDatabase(
    mail.command('set'),
    'satchel mail set smtp://relay.example.com --from "My App <app@example.com>"',
    'echo smtps://app%40example.com:PASSWORD@smtp.example.com | satchel mail set --address-file -',
  )
    .description('set the mail server or the sender of this database')
    .argument('[address]', 'smtp://host:port, smtps://… or the https address of a web hook')
    .option(
      '--address-file <file>',
      'a file with the address and its password; - for standard input',
    )
    .option('--from <sender>', 'the sender, such as "My App <app@example.com>"')
    .action(async (given, options) => {
      const { addressFile, from: sender, ...rest } = options
      const upload = readAddress(cli, given, addressFile)
      if (upload === undefined && sender === undefined) {
        throw new UsageError('Give an address or --from')
      }
      const streams = { upload }
      const route = await carryOut(cli, 'mail.set', { ...rest, sender }, { streams })
      const secret = route !== null && 'hookSecret' in route ? [route.hookSecret] : []
      const lines = secret.map(
        (text) => `The hook secret is ${shownOnce(cli, text, 'satchel mail set')}`,
      )
      await print(cli, options, valueOf(route), [describe(route), ...lines].join('\n'))
    })

  withDatabase(mail.command('reset'), 'satchel mail reset')
    .description('use the mail settings of the server')
    .action((options) => tell(cli, 'mail.reset', options, describe, valueOf))

  withDatabase(
    mail.command('test'),
    'satchel mail test --to me@example.com',
    'satchel mail test --to me@example.com --kind invite',
  )
    .description('send a mail now and report the result')
    .requiredOption('--to <address>', 'the recipient')
    .addOption(
      new Option('--kind <kind>', 'the template to use')
        .choices(['otp', 'invite'] as const)
        .default('otp' as const),
    )
    .action((options) =>
      tell(cli, 'mail.test', options, ({ from, to }) => {
        return `A mail from ${from} to ${options.to} went to ${to}`
      }),
    )
}

/** How mails go; the properties are null when they cannot be sent. */
function valueOf(route: OutputOf<'mail.show'>): object {
  return route ?? { to: null, from: null, isOwn: false }
}

function describe(route: OutputOf<'mail.show'>): string {
  if (route === null) return NOT_CONFIGURED
  const source = route.isOwn ? '' : ' (set by the server)'
  return `Mails go to ${route.to}${source}\nThe sender is ${route.from}`
}

const NOT_CONFIGURED =
  'Mail is not configured: satchel mail set sets a mail server, satchel serve --print-mails prints mails'

function readAddress(
  cli: Cli,
  given: string | undefined,
  file: string | undefined,
): ReadableStream<Uint8Array> | undefined {
  if (given === undefined) return file === undefined ? undefined : openInput(cli, file).bytes
  if (file !== undefined)
    throw new UsageError('Give the address once: as an argument or with --address-file')
  if (isSecret(given)) {
    throw new UsageError(
      'Every user of this machine could read the password: give the address with --address-file',
    )
  }
  return new Blob([given]).stream()
}

function isSecret(address: string): boolean {
  try {
    return holdsSecret(address)
  } catch {
    // A wrong address is reported by the mailer.
    return false
  }
}

/** `satchel template list|show|preview|set|reset`: the mail templates of a database (protocol.md §13.2). */
export function addTemplateCommands(program: Command, cli: Cli): void {
  const template = program
    .command('template')
    .description('the mail templates of a database, in Handlebars')

  withDatabase(template.command('list'), 'satchel template list')
    .description('list the templates')
    .action((options) =>
      tell(cli, 'template.list', options, tableOf, (templates) => ({
        data: templates.map(({ id: name, ...rest }) => ({ name, ...rest })),
      })),
    )

  withDatabase(
    template.command('show'),
    'satchel template show otp-body-txt > otp-body-txt.handlebars',
  )
    .description('print a template')
    .argument('<name>', 'as satchel template list shows it')
    .action(async (name, options) => {
      const { content, isOwn } = await carryOut(cli, 'template.show', { ...options, name })
      if (options.json) await print(cli, options, { name, content, isOwn }, '')
      else await cli.terminal.write(content)
    })

  withDatabase(template.command('preview'))
    .description('print a template filled with sample data')
    .argument('<name>', 'as satchel template list shows it')
    .argument('[file]', 'a template that is not set yet, - for standard input')
    .addHelpText('after', VARIABLES)
    .addHelpText(
      'after',
      example(
        'satchel template preview otp-body-html > preview.html',
        'satchel template preview otp-subject my-subject.handlebars',
      ),
    )
    .action(async (name, file, options) => {
      const content = file === undefined ? null : await readText(cli, file)
      const mail = await carryOut(cli, 'template.preview', { ...options, name, content })
      await print(cli, options, mail, partOf(mail, name))
    })

  withDatabase(template.command('set'))
    .description('replace a template')
    .argument('<name>', 'as satchel template list shows it')
    .argument('<file>', 'the template, - for standard input')
    .addHelpText('after', VARIABLES)
    .addHelpText('after', example('satchel template set otp-body-txt otp-body-txt.handlebars'))
    .action(async (name, file, options) => {
      const streams = { upload: openInput(cli, file).bytes }
      const set = await carryOut(cli, 'template.set', { ...options, name }, { streams })
      await print(cli, options, set, `${name} is replaced: satchel mail test sends a sample`)
    })

  withDatabase(template.command('reset'), 'satchel template reset otp-body-txt')
    .description('restore the built-in template')
    .argument('<name>', 'as satchel template list shows it')
    .action((name, options) =>
      tell(cli, 'template.reset', { ...options, name }, ({ wasOwn }) =>
        wasOwn
          ? `${name} is the built-in template again`
          : `${name} was the built-in template already`,
      ),
    )
}

function tableOf(templates: OutputOf<'template.list'>, width?: number): string {
  const rows = templates.map(({ id, isOwn }) => [id, isOwn ? 'this database' : 'built in'])
  return table(['name', 'source'], rows, width)
}

/** The part of a mail that a template of this name makes. */
function partOf(mail: OutputOf<'template.preview'>, name: string): string {
  if (name.endsWith('-subject')) return mail.subject
  return name.endsWith('-html') ? mail.html : mail.text
}

const VARIABLES = `
Variables:
  otp-*     ${variableNames('otp').join(', ')}
  invite-*  ${variableNames('invite').join(', ')}
{{name}} is escaped in HTML, {{{name}}} is not; {{#if name}} asks whether it is empty.`
