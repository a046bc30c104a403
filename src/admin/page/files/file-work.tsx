import { TaskView } from '../parts/task-view'
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
      <TaskView task={verify} label="Comparing">
        {({ faults = [] }) => (
          <span class="soft small">
            {faults.length === 0
              ? 'All files are as they were stored.'
              : `${faults.length} files are damaged or missing.`}
          </span>
        )}
      </TaskView>
      <TaskView task={collect} label="Removing">
        {({ blobs, bytes }) => (
          <span class="soft small">
            {blobs.toLocaleString()} files with {sizeText(bytes)} were removed.
          </span>
        )}
      </TaskView>
    </div>
  )
}
