import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { type Cli, tell, withDatabase } from './command'
import { isoTime, minute } from './output'
import { list } from './table'

/** `satchel device list`. */
export function addDeviceCommands(program: Command, cli: Cli): void {
  const device = program.command('device').description('the local databases that sync')

  withDatabase(
    device.command('list'),
    'satchel device list',
    'satchel device list --user alice@example.com',
  )
    .description('list the devices of users with their tables and live connections')
    .option('--user <id>', 'only those of this user')
    .option('--after <cursor>', 'continue after the previous list')
    .action(({ after, ...options }) =>
      tell(cli, 'device.list', { ...options, cursor: after }, describe, ({ devices, cursor }) => ({
        data: devices.map((each) => ({ ...each, seen: isoTime(each.seen) })),
        cursor,
      })),
    )
}

function describe({ devices, cursor }: OutputOf<'device.list'>, width?: number): string {
  const rows = devices.map(({ device, userId, seen, tables, ...live }) => [
    device,
    userId,
    minute(isoTime(seen)),
    live.isConnected ? (['green', stateOf(live)] as const) : '',
    tables.join(', '),
  ])
  const headings = ['device', 'user', 'seen (UTC)', 'connection', { mayCut: 'tables' }]
  return list(headings, rows, { none: 'No device has synced yet', cursor, width })
}

function stateOf({ phase, behind }: { phase: string | null; behind: number | null }): string {
  if (phase === 'muted') return 'may not listen'
  return behind === null || behind === 0 ? 'in step' : `${behind} behind`
}
