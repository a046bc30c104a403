import { Failure } from '../parts/failure'
import { ProgressBar } from '../parts/progress-bar'
import { useTask } from '../server/task'
import { database } from '../shell/route'

interface Verified {
  readonly checked: number
  readonly found: number
  readonly faults: readonly unknown[]
}

/** Compares the whole database with its checksums. */
export function Verify() {
  const { isBusy, progress, result, error, run, cancel } = useTask<Verified>()
  return (
    <section class="part box">
      <header>
        <h2>Soundness</h2>
        <button
          class="small-button"
          onClick={isBusy ? cancel : () => void run('verify', { database: database.value })}
        >
          {isBusy ? 'Stop' : 'Verify'}
        </button>
      </header>
      <p class="soft small">
        All rows, index entries and rights are compared with their checksums, while others are
        served.
      </p>
      {isBusy && <ProgressBar progress={progress} label="Verifying" />}
      <Failure error={error} />
      {result !== undefined && (
        <p class={result.found === 0 ? 'good-text' : 'bad-text'}>
          {result.checked.toLocaleString()} rows and entries were checked:{' '}
          {result.found === 0 ? 'all are sound.' : `${result.found.toLocaleString()} are not.`}
        </p>
      )}
      {result !== undefined && result.found > 0 && (
        <pre class="mail-text">{JSON.stringify(result.faults, null, 2)}</pre>
      )}
    </section>
  )
}
