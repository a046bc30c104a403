import { TaskView } from '../parts/task-view'
import { visible } from '../parts/visible'
import { useTask } from '../server/task'
import { database } from '../shell/route'

interface Verified {
  readonly checked: number
  readonly found: number
  readonly faults: readonly unknown[]
}

/** Compares the whole database with its checksums. */
export function Verify() {
  const task = useTask<Verified>()
  return (
    <section class="part box">
      <header>
        <h2>Soundness</h2>
        <button
          class="small-button"
          disabled={task.isBusy}
          onClick={() => void task.run('verify', { database: database.value })}
        >
          Verify
        </button>
      </header>
      <p class="soft small">
        All rows, index entries and rights are compared with their checksums, while others are
        served.
      </p>
      <TaskView task={task} label="Verifying">
        {({ checked, found, faults }) => (
          <>
            <p class={found === 0 ? 'good-text' : 'bad-text'}>
              {checked.toLocaleString()} rows and entries were checked:{' '}
              {found === 0 ? 'all are sound.' : `${found.toLocaleString()} are not.`}
            </p>
            {found > 0 && <pre class="mail-text">{visible(JSON.stringify(faults, null, 2))}</pre>}
          </>
        )}
      </TaskView>
    </section>
  )
}
