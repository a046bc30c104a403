import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { type Cli, tell, withDatabase } from './command'
import { isoTime } from './output'
import { list } from './table'

/** `satchel job list|cancel`. */
export function addJobCommands(program: Command, cli: Cli): void {
  const job = program.command('job').description('the work that a server does in the background')

  withDatabase(job.command('list'), 'satchel job list')
    .description('list the jobs that are under way or have stopped')
    .action((options) =>
      tell(cli, 'job.list', options, describe, (jobs) => ({
        data: jobs.map((each) => ({ ...each, created: isoTime(each.created) })),
      })),
    )

  withDatabase(job.command('cancel'), 'satchel job cancel import-3kf9ac02m')
    .description('end an import; the objects that it has imported stay')
    .argument('<id>', 'as satchel job list shows it')
    .action((id, options) =>
      tell(cli, 'job.cancel', { ...options, id }, (job) =>
        job.hadStopped
          ? `The job ${id} is removed from the list`
          : `The import is cancelled at ${shareOf(job)}: what it has imported stays`,
      ),
    )
}

export type ListedJob = OutputOf<'job.list'>[number]

function describe(jobs: readonly ListedJob[], width?: number): string {
  const hasStopped = jobs.some(({ failure }) => failure !== null)
  const rows = jobs.map((each) => [
    each.id,
    each.place?.file ? `${each.kind} of ${each.place.file}` : each.kind,
    rowsOf(each),
    ...(hasStopped ? [['red', each.failure ?? ''] as const] : []),
  ])
  const headings = ['id', { mayCut: 'kind' }, 'done', ...(hasStopped ? ['stopped because'] : [])]
  return list(headings, rows, { none: 'There are no jobs', width })
}

/** `70 %, row 120,000 of 170,000` for an import, the share for other jobs. */
function rowsOf(job: ListedJob): string {
  const { place } = job
  if (place === null) return shareOf(job)
  const [row, rows] = [place.row, place.rows].map((count) => count.toLocaleString('en'))
  return `${shareOf(job)}, row ${row} of ${rows}`
}

/** How much of a job is done, in percent if its total is known. */
export function shareOf({ done, total }: Pick<ListedJob, 'done' | 'total'>): string {
  return total === null ? `${done}` : `${total === 0 ? 100 : Math.floor((100 * done) / total)} %`
}
