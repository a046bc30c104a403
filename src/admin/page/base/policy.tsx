import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { TaskView } from '../parts/task-view'
import { useTask } from '../server/task'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { type Secret, SecretDialog } from './secret-dialog'

interface PolicyInfo {
  readonly newUsers: string
  readonly evalDays: number
  readonly seats: number | null
  readonly hookUrl: string | null
}

const NEW_USERS = [
  ['prod', 'are admitted'],
  ['eval', 'are admitted for an evaluation'],
  ['reject', 'are rejected'],
  ['webhook', 'are decided about by a web hook'],
] as const

/** The policy about new users. */
export function Policy() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<PolicyInfo>('policy.show', input)
  const [draft, setDraft] = useState<PolicyInfo | null>(null)
  const [failure, setFailure] = useState<unknown>(undefined)
  const [secret, setSecret] = useState<Secret | null>(null)
  useEffect(() => setDraft(value ?? null), [value])
  if (value === undefined || draft === null) return <Failure error={error} />
  const save = async () => {
    try {
      // Others may have changed the rest meanwhile.
      const changed = Object.entries(draft).filter(
        ([name, wanted]) => wanted !== value[name as keyof PolicyInfo],
      )
      const changes = changed.map(([name, wanted]) => [
        name,
        wanted === '' ? 'none' : (wanted ?? 'none'),
      ])
      const saved = await call<{ hookSecret?: string }>('policy.set', {
        ...input,
        ...Object.fromEntries(changes),
      })
      setFailure(undefined)
      tellDone('The policy was changed')
      if (saved.hookSecret !== undefined) {
        setSecret({ title: 'The web hook', values: [['Secret', saved.hookSecret]] })
      }
      reload()
    } catch (error) {
      setFailure(error)
    }
  }
  const isWriting = may('policy.set') && !isReadOnly.value
  return (
    <section class="part box">
      <h2>New users</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <label>
          <span>People who log in for the first time</span>
          <select
            value={draft.newUsers}
            disabled={!isWriting}
            onChange={({ currentTarget }) => setDraft({ ...draft, newUsers: currentTarget.value })}
          >
            {NEW_USERS.map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <div class="pair">
          <label>
            <span>Days of an evaluation</span>
            <input
              required
              type="number"
              min="1"
              value={draft.evalDays}
              disabled={!isWriting}
              onInput={({ currentTarget }) =>
                setDraft({ ...draft, evalDays: currentTarget.valueAsNumber })
              }
            />
          </label>
          <label>
            <span>Seats</span>
            <input
              type="number"
              min="0"
              placeholder="any number"
              value={draft.seats ?? ''}
              disabled={!isWriting}
              onInput={({ currentTarget }) =>
                setDraft({
                  ...draft,
                  seats: currentTarget.value === '' ? null : currentTarget.valueAsNumber,
                })
              }
            />
          </label>
        </div>
        {(draft.newUsers === 'webhook' || draft.hookUrl !== null) && (
          <label>
            <span>Web hook</span>
            <input
              type="url"
              value={draft.hookUrl ?? ''}
              disabled={!isWriting}
              placeholder="https://app.example.com/hook"
              onInput={({ currentTarget }) => setDraft({ ...draft, hookUrl: currentTarget.value })}
            />
          </label>
        )}
        <Failure error={failure} />
        {isWriting && (
          <div class="actions">
            <button disabled={JSON.stringify(draft) === JSON.stringify(value)}>Save</button>
          </div>
        )}
      </form>
      {value.hookUrl !== null && may('policy.test') && <HookTest />}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </section>
  )
}

interface Verdict {
  readonly action: string
  /** ms. */
  readonly duration: number
}

/** Asks the stored web hook about a person, and creates no user. */
function HookTest() {
  const test = useTask<Verdict>()
  const [email, setEmail] = useState('')
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void test.run('policy.test', { database: database.value, email: email.trim() })
      }}
    >
      <div class="joined">
        <input
          required
          type="email"
          aria-label="Address to try the web hook with"
          placeholder="someone@example.com"
          value={email}
          onInput={({ currentTarget }) => {
            setEmail(currentTarget.value)
            // The verdict was about another address.
            test.clear()
          }}
        />
        <button disabled={test.isBusy}>Try the web hook</button>
      </div>
      <TaskView task={test} label="Asking">
        {({ action, duration }) => (
          <p class="good-text">
            It answered within {Math.ceil(duration)} ms: the person would be{' '}
            {action === 'reject' ? 'rejected' : `admitted (${action})`}.
          </p>
        )}
      </TaskView>
    </form>
  )
}
