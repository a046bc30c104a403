import type { Command } from '@commander-js/extra-typings'
import { readConfig } from '../config/config'
import { shownSettings } from '../config/shown'
import { type Cli, example } from './command'
import { print } from './output'
import { table } from './table'

/** `satchel config`: the settings that a server would have. */
export function addConfigCommands(program: Command, cli: Cli): void {
  program
    .command('config')
    .description('the settings of a server')
    .command('check')
    .description(
      'check a settings file and the environment, and show the settings that they change',
    )
    .argument('[file]', 'the JSON file of --config; comments are allowed')
    .option('--json', 'print JSON for programs')
    .addHelpText('after', example('satchel config check satchel.json'))
    .action(async (file, options) => {
      const usual = shownSettings(readConfig({ environment: {} }))
      const rows = Object.entries(shownSettings(readConfig({ file }))).filter(
        ([name, value]) => value !== usual[name],
      )
      const text =
        rows.length === 0
          ? 'The settings are the defaults'
          : table(['setting', 'value'], rows, cli.terminal.outputWidth)
      await print(cli, options, { settings: Object.fromEntries(rows) }, text)
    })
}
