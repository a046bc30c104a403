import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { type Cli, tell, withFolder } from './command'
import { isoTime, size } from './output'
import { list } from './table'

/** `satchel figures`. */
export function addFiguresCommand(program: Command, cli: Cli): void {
  withFolder(program.command('figures'), 'satchel figures', 'satchel figures --json')
    .description('show what a server has measured in the last hour, a line for each minute')
    .addHelpText(
      'after',
      '\nTimes are in UTC. With --json there are all figures, one for each ten seconds.',
    )
    .action((options) =>
      tell(cli, 'server.figures', options, describe, ({ figures }) => ({
        data: figures.map(({ at, median, p95, wait, memory, free, ...rest }) => ({
          at: isoTime(at),
          ...rest,
          medianMs: median,
          p95Ms: p95,
          waitMs: wait,
          memoryBytes: memory,
          freeBytes: free,
        })),
      })),
    )
}

/** So many figures are measured in a minute. */
const EACH_LINE = 6

const HEADINGS = [
  'time',
  'requests/s',
  'failed/s',
  'half in',
  '95 % in',
  'commits/s',
  'writes wait',
  'live',
  'memory',
  'free disk',
]

function describe({ figures }: OutputOf<'server.figures'>, width?: number): string {
  const rows = figures
    .filter((_, place) => (figures.length - 1 - place) % EACH_LINE === 0)
    .map((each) => [
      isoTime(each.at).slice(11, 19),
      rate(each.requests),
      rate(each.failures),
      duration(each.median),
      duration(each.p95),
      rate(each.commits),
      duration(each.wait),
      each.sockets.toLocaleString('en'),
      size(each.memory),
      each.free === null ? '' : size(each.free),
    ])
  return list(HEADINGS, rows, { none: 'The first figures come within ten seconds', width })
}

function rate(value: number | null): string {
  return value === null ? '' : value.toFixed(1)
}

function duration(ms: number | null): string {
  if (ms === null) return ''
  return ms < 1_000 ? `${Number(ms.toPrecision(2))} ms` : `${(ms / 1_000).toFixed(1)} s`
}
