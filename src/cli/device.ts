import type { Command } from '@commander-js/extra-typings'
import { carryOut, type Cli, example, withDatabase } from './command'
import { isoTime, minute, print } from './output'
import { table } from './table'

/** `satchel device list`. */
export function addDeviceCommands(program: Command, cli: Cli): void {
  const device = program.command('device').description('the local databases that sync')

  withDatabase(device.command('list'))
    .description('list the devices of users with their tables and live connections')
    .option('--user <id>', 'only those of this user')
    .option('--after <cursor>', 'continue after the previous list')
    .addHelpText(
      'after',
      example('satchel device list', 'satchel device list --user alice@example.com'),
    )
    .action(async ({ after, ...options }) => {
      const { devices, cursor } = await carryOut(cli, 'device.list', { ...options, cursor: after })
      const rows = devices.map(({ device: name, userId, seen, tables, ...live }) => [
        name,
        userId,
        minute(isoTime(seen)),
        live.isConnected ? (['green', stateOf(live)] as const) : '',
        tables.join(', '),
      ])
      const headings = ['device', 'user', 'seen (UTC)', 'connection', { mayCut: 'tables' }]
      const more = cursor === null ? '' : `\nThere are more: add --after ${cursor}`
      const text = `${table(headings, rows, cli.terminal.outputWidth)}${more}`
      const data = devices.map((each) => ({ ...each, seen: isoTime(each.seen) }))
      await print(
        cli,
        options,
        { data, cursor },
        devices.length === 0 ? 'No device has synced yet' : text,
      )
    })
}

function stateOf({ phase, behind }: { phase: string | null; behind: number | null }): string {
  if (phase === 'muted') return 'may not listen'
  return behind === null || behind === 0 ? 'in step' : `${behind} behind`
}
