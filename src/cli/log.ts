import { type Command, Option } from '@commander-js/extra-typings'
import { isRecord } from '../domain/value/value'
import { LEVELS } from '../log/log'
import { carryOut, type Cli, withFolder } from './command'
import { print } from './output'
import { oneLine } from './table'

/** `satchel log follow`. */
export function addLogCommands(program: Command, cli: Cli): void {
  const log = program.command('log').description('the log of a server that runs')

  withFolder(log.command('follow'), 'satchel log follow', 'satchel log follow --level warning')
    .description('print the lines of the log from now on, until Ctrl-C')
    .addOption(
      new Option('--level <level>', 'lines of this level, and more serious ones').choices(LEVELS),
    )
    .action(async ({ level, ...options }) => {
      const interrupt = new AbortController()
      using _ = cli.terminal.onInterrupt(() => interrupt.abort())
      const emit = (item: unknown) => print(cli, options, item as object, lineOf(item))
      const streams = { emit, signal: interrupt.signal }
      try {
        await carryOut(cli, 'log.follow', { ...options, level }, { streams })
      } catch (error) {
        if (!interrupt.signal.aborted) throw error
      }
    })
}

/** `12:00:00.000 warning  server  Message  name=value`. */
function lineOf(item: unknown): string {
  if (!isRecord(item)) return ''
  if (item['kind'] === 'missed') return `${Number(item['count'])} lines were left out`
  const { time, level, logger, message, ...rest } = item
  const properties = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const head = [String(time).slice(11, 23), String(level).padEnd(7), String(logger)]
  const text = [...head, ...(typeof message === 'string' ? [message] : []), ...properties]
  return oneLine(text.join('  '))
}
