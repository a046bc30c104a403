import { type Command, Option } from '@commander-js/extra-typings'
import { environmentName, flagName, type Setting, SETTINGS } from '../config/settings'
import { type Cli, example } from './command'
import { definitions } from './help'
import { runServer } from './serve'

/** `satchel serve`: its flags come from the table of settings. */
export function addServeCommand(program: Command, cli: Cli): void {
  const serve: Command = program
    .command('serve')
    .description('serve the databases of a data folder')
    .option('--config <file>', 'read settings from this JSON file')
    .option('--json', 'print one line of JSON when it is ready')
  for (const option of settingOptions()) serve.addOption(option)
  serve
    .addHelpText(
      'after',
      // Made on demand: numbers in words take as long as the rest of the command line.
      () =>
        `\nEvery setting may also come from the environment (--public-url as ${environmentName('publicUrl')}) or from the file that --config names ({"publicUrl": …}). Flags win, then the environment.\n\nSettings without a flag:\n${definitions(rareSettings())}\n`,
    )
    .addHelpText(
      'after',
      example(
        'satchel serve',
        'satchel serve --memory --test --json -p 0 --schema schema.json --seed seed',
      ),
    )
    .action((options) => runServer(cli, options))
}

function settingOptions(): Option[] {
  return Object.entries(SETTINGS)
    .filter(([, setting]) => !('withoutFlag' in setting))
    .map(([name, setting]) => {
      const { fallback, help } = setting
      const value = 'value' in setting ? ` <${setting.value}>` : ''
      const rest = typeof fallback === 'string' || typeof fallback === 'number'
      const short = 'short' in setting ? `-${setting.short}, ` : ''
      const flags = short + flagName(name) + value
      const option = new Option(flags, rest ? `${help} (default: ${fallback})` : help)
      // A switch of its own: `--no-admin` would else set `admin` to false.
      option.negate = false
      return option
    })
}

/** The variables of the settings that are not flags, and what they mean. */
function rareSettings(): (readonly [string, string])[] {
  return Object.entries<Setting<unknown>>(SETTINGS)
    .filter(([, { withoutFlag }]) => withoutFlag)
    .map(([name, { fallback, help, value }]) => {
      const amount = typeof fallback === 'number' && `${fallback.toLocaleString('en')} ${value}`
      return [environmentName(name), amount ? `${help} (default: ${amount})` : help]
    })
}
