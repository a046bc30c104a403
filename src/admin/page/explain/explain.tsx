import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { useOperation } from '../server/operation'
import { database, hrefOf } from '../shell/route'
import { Text } from '../parts/text'
import { type Question, VERBS } from './question'

/** The most characters of a rule or of permissions. */
const MOST = 1_000

interface Member {
  readonly row: string
  readonly state: string
  readonly permissions: object
  readonly roles: readonly { readonly name: string; readonly permissions: object | null }[]
}

interface Explanation {
  readonly allowed: boolean
  readonly rule: string
  readonly user: { readonly userId: string; readonly state: string }
  readonly object: { readonly key: string; readonly owner: string | null } | null
  readonly realm: { readonly realmId: string; readonly kind: string } | null
  readonly members: readonly Member[]
}

interface ExplainProps {
  /** The question until a person asks another one. */
  readonly question: Question
  /** That of the object: it is asked again for each. */
  readonly revision?: number | undefined
  /** Shares an object of a private realm with the user who does not see it. */
  readonly onShare?: ((user: string) => void) | undefined
}

/** Whether a user may do something with an object, and the steps that lead to the answer. */
export function Explain({ question, revision, onShare }: ExplainProps) {
  /** What a person has typed, and what of it was asked. */
  const [typed, setTyped] = useState<Partial<Question>>({})
  const [sent, setSent] = useState<Partial<Question>>({})
  const draft = { ...question, ...typed }
  const whole = { ...question, ...sent }
  const asked = { ...whole, as: whole.as.trim() }
  const change = (changes: Partial<Question>) => setTyped({ ...typed, ...changes })
  const ask = () => setSent(typed)
  // A rejected write does not tell the realm that it was to go to.
  const isWhole = asked.as !== '' && (asked.do !== 'add' || asked.realm !== null)
  const { value, error } = useOperation<Explanation>(
    'explain',
    isWhole ? { database: database.value, ...asked } : null,
    { version: revision },
  )
  return (
    <div class="explain">
      <form
        class="explain-question"
        onSubmit={(event) => {
          event.preventDefault()
          ask()
        }}
      >
        <span>May</span>
        <input
          aria-label="User"
          placeholder="bob@example.com"
          value={draft.as}
          spellcheck={false}
          onInput={({ currentTarget }) => change({ as: currentTarget.value })}
          onBlur={ask}
        />
        <select
          aria-label="Act"
          value={draft.do}
          onChange={({ currentTarget }) => {
            const verb = VERBS.find((each) => each === currentTarget.value) ?? 'read'
            change({ do: verb })
            setSent({ ...typed, do: verb })
          }}
        >
          {VERBS.map((verb) => (
            <option key={verb}>{verb}</option>
          ))}
        </select>
        <span class="clip">
          <b>
            <Text text={question.table} />
          </b>{' '}
          {question.key !== null && draft.do !== 'add' && <Text text={question.key} />}
        </span>
        {draft.do === 'update' && (
          <Detail
            label="Property"
            placeholder="any property"
            value={draft.property}
            onInput={(property) => change({ property })}
            onLeave={ask}
          />
        )}
        {draft.do === 'add' && (
          <Detail
            label="Realm"
            placeholder="rlm-public"
            value={draft.realm}
            onInput={(realm) => change({ realm })}
            onLeave={ask}
          />
        )}
        <button class="small-button">Ask</button>
      </form>
      <Failure error={error} />
      {value !== undefined && isWhole && <Answer explanation={value} onShare={onShare} />}
      {asked.do === 'add' && asked.realm === null && (
        <p class="soft">Name the realm: its id, or the id of a user for a private one.</p>
      )}
    </div>
  )
}

interface DetailProps {
  readonly label: string
  readonly placeholder: string
  readonly value: string | null
  readonly onInput: (text: string | null) => void
  readonly onLeave: () => void
}

function Detail({ label, placeholder, value, onInput, onLeave }: DetailProps) {
  return (
    <input
      aria-label={label}
      placeholder={placeholder}
      value={value ?? ''}
      spellcheck={false}
      onInput={({ currentTarget }) => onInput(currentTarget.value || null)}
      onBlur={onLeave}
    />
  )
}

function Answer({
  explanation: { allowed, rule, user, object, realm, members },
  onShare,
}: {
  explanation: Explanation
  onShare: ExplainProps['onShare']
}) {
  const isElsewhere = !allowed && object !== null && realm?.kind === 'private'
  return (
    <div aria-live="polite">
      <p class={`verdict ${allowed ? 'good' : 'bad'}`}>
        <Icon name={allowed ? 'check' : 'close'} />
        <span>
          <b>{allowed ? 'Yes' : 'No'}</b>: <Text text={rule} most={MOST} />.
        </span>
      </p>
      {isElsewhere && user.state === 'active' && onShare !== undefined && (
        <button onClick={() => onShare(user.userId)}>
          Share it with <Text text={user.userId} />
        </button>
      )}
      <ol class="steps">
        <Step title="User" isGood={user.state === 'active'}>
          <Text text={user.userId} /> is {user.state}
        </Step>
        <Step title="Object" isGood={object !== null}>
          {object === null ? 'none with this key' : <Owner owner={object.owner} />}
        </Step>
        <Step title="Realm" isGood={realm !== null}>
          {realm === null ? (
            'none'
          ) : (
            <>
              <a class="mono" href={hrefOf('sharing', realm.realmId)}>
                <Text text={realm.realmId} />
              </a>{' '}
              is {realm.kind}
            </>
          )}
        </Step>
        {members.map((member) => (
          <Step key={member.row} title="Member" isGood={member.state === 'accepted'}>
            row{' '}
            <span class="mono">
              <Text text={member.row} />
            </span>{' '}
            is {member.state}
            <Sets member={member} />
          </Step>
        ))}
        {members.length === 0 && (
          <Step title="Member" isGood={false}>
            the user has no row in this realm
          </Step>
        )}
      </ol>
    </div>
  )
}

function Owner({ owner }: { owner: string | null }) {
  return owner === null ? (
    <>is unowned</>
  ) : (
    <>
      owned by <Text text={owner} />
    </>
  )
}

function Step({
  title,
  isGood,
  children,
}: {
  title: string
  isGood: boolean
  children: preact.ComponentChildren
}) {
  return (
    <li class={isGood ? 'good' : 'open'}>
      <span class="step-title">{title}</span>
      <div>{children}</div>
    </li>
  )
}

function Sets({ member: { permissions, roles } }: { member: Member }) {
  return (
    <ul class="sets">
      {Object.keys(permissions).length > 0 && (
        <li>
          own permissions{' '}
          <code>
            <Text text={JSON.stringify(permissions)} most={MOST} />
          </code>
        </li>
      )}
      {roles.map(({ name, permissions }) => (
        <li key={name}>
          role{' '}
          <b>
            <Text text={name} />
          </b>{' '}
          {permissions === null ? (
            <span class="bad-text">does not exist</span>
          ) : (
            <code>
              <Text text={JSON.stringify(permissions)} most={MOST} />
            </code>
          )}
        </li>
      ))}
    </ul>
  )
}
