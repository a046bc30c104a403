import { Failure } from '../parts/failure'
import { ProgressBar } from '../parts/progress-bar'
import { useTask } from '../server/task'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { sizeText } from '../value/typed'

interface Collected {
  readonly blobs: number
  readonly bytes: number
}

interface Verified {
  readonly checked?: number
  readonly faults?: readonly unknown[]
}

/** Work on all blobs: comparing them with their hashes, and removing unreferenced ones. */
export function FileWork({ onDone }: { onDone: () => void }) {
  const verify = useTask<Verified>()
  const collect = useTask<Collected>()
  const input = { database: database.value }
  return (
    <div class="work">
      {may('blob.verify') && (
        <button
          class="small-button"
          disabled={verify.isBusy}
          onClick={() => void verify.run('blob.verify', input)}
        >
          Compare all with their hashes
        </button>
      )}
      {may('blob.gc') && !isReadOnly.value && (
        <button
          class="small-button"
          disabled={collect.isBusy}
          onClick={() =>
            void collect.run('blob.gc', { ...input, confirm: database.value }).then(onDone)
          }
        >
          Remove unreferenced files
        </button>
      )}
      {verify.isBusy && <ProgressBar progress={verify.progress} label="Comparing" />}
      {collect.isBusy && <ProgressBar progress={collect.progress} label="Removing" />}
      <Failure error={verify.error ?? collect.error} />
      {verify.result !== undefined && (
        <span class="soft small">
          {(verify.result.faults?.length ?? 0) === 0
            ? 'All files are as they were stored.'
            : `${verify.result.faults?.length} files are damaged or missing.`}
        </span>
      )}
      {collect.result !== undefined && (
        <span class="soft small">
          {collect.result.blobs.toLocaleString()} files with {sizeText(collect.result.bytes)} were
          removed.
        </span>
      )}
    </div>
  )
}
