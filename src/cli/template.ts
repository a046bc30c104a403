import type { Command } from '@commander-js/extra-typings'
import { variableNames } from '../mail/samples'
import { type Cli, example, inSession, withDatabase } from './command'
import { openInput } from './files'
import { print, table } from './output'

/** `satchel template list|show|set|reset`: the words of the mails of a database (protocol.md §13.2). */
export function addTemplateCommands(program: Command, cli: Cli): void {
  const template = program
    .command('template')
    .description('the words of the mails of a database, in Handlebars')

  withDatabase(template.command('list'))
    .description('list the templates')
    .addHelpText('after', example('satchel template list'))
    .action(async (options) => {
      const templates = await inSession(cli, options, (session) =>
        session.run('template.list', { database: options.db }),
      )
      const rows = templates.map(({ id, isOwn }) => [id, isOwn ? 'this database' : 'built in'])
      await print(cli, options, templates, table(['name', 'words'], rows))
    })

  withDatabase(template.command('show'))
    .description('print a template')
    .argument('<name>', 'as satchel template list shows it')
    .addHelpText('after', example('satchel template show otp-body-txt > otp-body-txt.handlebars'))
    .action(async (name, options) => {
      const shown = await inSession(cli, options, (session) =>
        session.run('template.show', { database: options.db, name }),
      )
      if (options.json) await print(cli, options, shown, '')
      else await cli.terminal.write(shown.content)
    })

  withDatabase(template.command('set'))
    .description('use your own words')
    .argument('<name>', 'as satchel template list shows it')
    .argument('<file>', 'the template, - for standard input')
    .addHelpText('after', VARIABLES)
    .addHelpText('after', example('satchel template set otp-body-txt otp-body-txt.handlebars'))
    .action(async (name, file, options) => {
      const { bytes: upload } = openInput(cli, file)
      const set = await inSession(cli, options, (session) =>
        session.run('template.set', { database: options.db, name }, { upload }),
      )
      await print(cli, options, set, `${name} has your words: satchel mail test shows them`)
    })

  withDatabase(template.command('reset'))
    .description('use the words that are built in')
    .argument('<name>', 'as satchel template list shows it')
    .addHelpText('after', example('satchel template reset otp-body-txt'))
    .action(async (name, options) => {
      const reset = await inSession(cli, options, (session) =>
        session.run('template.reset', { database: options.db, name }),
      )
      const text = reset.wasOwn ? `${name} has the words that are built in` : `${name} had them`
      await print(cli, options, reset, text)
    })
}

const VARIABLES = `
Variables:
  otp-*     ${variableNames('otp').join(', ')}
  invite-*  ${variableNames('invite').join(', ')}
{{name}} is escaped in HTML, {{{name}}} is not; {{#if name}} asks whether it is empty.`
