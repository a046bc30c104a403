import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
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
      const { newUsers, evalDays, seats, hookUrl } = draft
      const saved = await call<{ hookSecret?: string }>('policy.set', {
        ...input,
        newUsers,
        evalDays,
        seats: seats ?? 'none',
        hookUrl: hookUrl === null || hookUrl === '' ? 'none' : hookUrl,
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
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </section>
  )
}
