import type { Command } from '@commander-js/extra-typings'
import { readConfig } from '../config/config'
import { SETTINGS } from '../config/settings'
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
      const config = readConfig({ file })
      const usual = readConfig({ environment: {} })
      const changed = names.filter((name) => shown(config, name) !== shown(usual, name))
      const settings = Object.fromEntries(changed.map((name) => [name, shown(config, name)]))
      const rows = changed.map((name) => [name, shown(config, name)])
      const text =
        rows.length === 0
          ? 'The settings are the defaults'
          : table(['setting', 'value'], rows, cli.terminal.outputWidth)
      await print(cli, options, { settings }, text)
    })
}

const names = Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]
/** Their values, or parts of them, must not be shown. */
const SECRET: ReadonlySet<string> = new Set(['secretKey', 'backupKey', 'mailHookSecret', 'smtpUrl'])

function shown(config: ReturnType<typeof readConfig>, name: keyof typeof SETTINGS): string {
  const value: unknown = config[name]
  if (value === null) return ''
  if (SECRET.has(name)) return 'set'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
