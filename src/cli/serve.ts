import { type Command, Option } from '@commander-js/extra-typings'
import process from 'node:process'
import { version } from '../../package.json'
import { readConfig } from '../config/config'
import { batchLines, openOutlet } from '../log/line-sink'
import { lostLines, openLogs, serverLog } from '../log/log'
import { environmentName, flagName, SETTINGS } from '../config/settings'
import { type Cli, example } from './command'
import { readyLine, readyText } from './ready'
import { untilSignal } from './signals'

/** `satchel serve`: every setting that may be a flag, from the one table of settings. */
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
      `\nEvery setting may also come from the environment (--public-url as ${environmentName('publicUrl')})\nor from the file that --config names ({"publicUrl": …}). Flags win, then the environment.\n`,
    )
    .addHelpText('after', example('satchel serve', 'satchel serve --memory --port 0 --json'))
    .action((options) => runServer(cli, options))
}

function settingOptions(): Option[] {
  return Object.entries(SETTINGS)
    .filter(([, setting]) => !('withoutFlag' in setting))
    .map(([name, setting]) => {
      const { fallback, help } = setting
      const value = 'value' in setting ? ` <${setting.value}>` : ''
      const rest = typeof fallback === 'string' || typeof fallback === 'number'
      return new Option(flagName(name) + value, rest ? `${help} (default: ${fallback})` : help)
    })
}

const STANDARD_ERROR = 2

interface ServeOptions extends Readonly<Record<string, unknown>> {
  readonly config?: string
  readonly json?: true
}

async function runServer(
  { terminal, clock }: Cli,
  { config: file, json, ...flags }: ServeOptions,
): Promise<void> {
  const config = readConfig({ file, flags })
  const format = !json && terminal.isFollowed ? 'text' : 'json'
  const sink = batchLines(openOutlet(STANDARD_ERROR), (lines) => lostLines(clock, format, lines))
  const logs = openLogs({ clock, level: config.logLevel, format, sink })
  const stopped = untilSignal(() => sink.flushNow())
  keepRunning()
  const { startServer } = await import('../server')
  try {
    await using server = await startServer(config, { clock, logs })
    const text = json ? readyLine(server) : readyText(server, config, terminal)
    await terminal.write(`${text}\n`)
    if (format === 'json')
      serverLog.info('Ready', { version, url: server.url, folder: server.folder })
    await stopped
    serverLog.info('Stopping')
  } finally {
    await logs.flush()
  }
}

/** One request that goes wrong in a way nobody thought of must not end all the others. */
function keepRunning(): void {
  process.on('unhandledRejection', (error) => serverLog.error('Nobody handled an error', { error }))
  process.on('uncaughtException', (error) => serverLog.error('Nobody caught an error', { error }))
}
