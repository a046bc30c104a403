import { Ago } from '../parts/ago'
import { DestroyButton } from '../parts/destroy-button'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { PageHead } from '../parts/page-head'
import { ProgressBar } from '../parts/progress-bar'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { Export } from './export'
import { Import } from './import'

interface Job {
  readonly id: string
  readonly kind: string
  readonly done: number
  readonly total: number | null
  readonly created: number
  readonly failure: string | null
}

const EVERY_MS = 1_500

/** Long work: what runs, imports and exports. */
export function Jobs() {
  const { value, error, reload } = useOperation<readonly Job[]>(
    'job.list',
    { database: database.value },
    { every: EVERY_MS },
  )
  return (
    <>
      <PageHead title="Jobs" about="Long work in the background" />
      <div class="body narrow">
        <Failure error={error} onAgain={reload} />
        {value?.length === 0 && (
          <Empty icon="jobs" title="Nothing runs now">
            Imports, new indexes and deletions of much data are jobs. They go on after a restart.
          </Empty>
        )}
        {value !== undefined && value.length > 0 && (
          <ul class="cards">
            {value.map((job) => (
              <JobCard key={job.id} job={job} onChange={reload} />
            ))}
          </ul>
        )}
        {(value !== undefined || error !== undefined) && (
          <div class="columns">
            {may('import') && !isReadOnly.value && <Import onDone={reload} />}
            {may('export') && <Export />}
          </div>
        )}
      </div>
    </>
  )
}

function JobCard({ job, onChange }: { job: Job; onChange: () => void }) {
  const { id, kind, done, total, created, failure } = job
  return (
    <li class="card">
      <header>
        <h2>{kind}</h2>
        <span class="soft small">
          began <Ago at={created} />
        </span>
        {kind === 'import' && may('job.cancel') && !isReadOnly.value && (
          <DestroyButton
            kind="small-button"
            title="Cancel the import"
            done="The import was cancelled"
            text="Objects that were imported already stay."
            name={id}
            operation="job.cancel"
            input={{ database: database.value, id }}
            isTyped={false}
            onDone={onChange}
          >
            Cancel
          </DestroyButton>
        )}
      </header>
      {failure === null ? (
        <ProgressBar progress={{ done, total }} label={kind} />
      ) : (
        <p class="bad-text">
          It has stopped: <Text text={failure} />
        </p>
      )}
    </li>
  )
}
