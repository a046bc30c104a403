import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { useTask } from '../server/task'
import { database } from '../shell/route'

interface Fault {
  /** ms. */
  readonly latency: number
  readonly errorRate: number
  readonly offline: boolean
  readonly loseReplies: boolean
}

/** Makes the requests of applications slow, or lets them fail. */
export function FaultBox() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<Fault>('test.fault', input)
  const change = useTask<Fault>()
  const [draft, setDraft] = useState<Fault | null>(null)
  useEffect(() => setDraft(value ?? null), [value])
  if (draft === null) return <Failure error={error} />
  const save = (next: Fault) => {
    setDraft(next)
    const changes = { ...next, latency: `${Math.round(next.latency)}ms` }
    void change.run('test.fault', { ...input, ...changes }).then(reload)
  }
  return (
    <section class="part box">
      <h2>Faults</h2>
      <div class="form">
        <label>
          <span>Each request takes longer by {draft.latency} ms</span>
          <input
            type="range"
            min="0"
            max="5000"
            step="50"
            value={draft.latency}
            onInput={({ currentTarget }) =>
              setDraft({ ...draft, latency: currentTarget.valueAsNumber })
            }
            onChange={({ currentTarget }) =>
              save({ ...draft, latency: currentTarget.valueAsNumber })
            }
          />
        </label>
        <label>
          <span>{Math.round(draft.errorRate * 100)} % of the requests fail</span>
          <input
            type="range"
            min="0"
            max="1"
            step="0.05"
            value={draft.errorRate}
            onInput={({ currentTarget }) =>
              setDraft({ ...draft, errorRate: currentTarget.valueAsNumber })
            }
            onChange={({ currentTarget }) =>
              save({ ...draft, errorRate: currentTarget.valueAsNumber })
            }
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={draft.offline}
            onChange={() => save({ ...draft, offline: !draft.offline })}
          />
          <span>Offline: nothing is executed, no answer arrives</span>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={draft.loseReplies}
            onChange={() => save({ ...draft, loseReplies: !draft.loseReplies })}
          />
          <span>Answers get lost: all is executed, no answer arrives</span>
        </label>
      </div>
      <Failure error={change.error} />
    </section>
  )
}
