import { useState } from 'preact/hooks'
import { exactTime } from '../parts/ago'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { useTask } from '../server/task'
import { database } from '../shell/route'

interface ClockState {
  /** ISO text. */
  readonly now: string
  readonly frozen: boolean
}

const STEPS = ['1m', '1h', '1d', '31d'] as const

/** Moves the clock of the database. */
export function ClockBox() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<ClockState>('test.clock', input, { every: 2_000 })
  const change = useTask<ClockState>()
  const [time, setTime] = useState('')
  const run = (changes: object) =>
    void change.run('test.clock', { ...input, ...changes }).then(reload)
  return (
    <section class="part box">
      <h2>Clock</h2>
      <p class="clock-value number">
        {value === undefined ? '…' : exactTime(new Date(value.now)).split('\n')[0]}
        {value?.frozen === true && <span class="badge info">stands still</span>}
      </p>
      <div class="actions">
        {STEPS.map((step) => (
          <button key={step} onClick={() => run({ advance: step })}>
            +{step}
          </button>
        ))}
        <button
          aria-pressed={value?.frozen}
          onClick={() => run({ freeze: value?.frozen !== true })}
        >
          Stand still
        </button>
      </div>
      <form
        class="joined"
        onSubmit={(event) => {
          event.preventDefault()
          run({ set: new Date(time).toISOString() })
        }}
      >
        <input
          required
          type="datetime-local"
          aria-label="Time"
          value={time}
          onInput={({ currentTarget }) => setTime(currentTarget.value)}
        />
        <button>Set</button>
      </form>
      <Failure error={error ?? change.error} />
    </section>
  )
}
