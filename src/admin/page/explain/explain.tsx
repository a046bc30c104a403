import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { useOperation } from '../server/operation'
import { database, hrefOf } from '../shell/route'
import { Text } from '../parts/text'

export interface Question {
  readonly as: string
  readonly do: 'read' | 'add' | 'update' | 'delete'
  readonly table: string
  readonly key: string | null
  readonly realm?: string | null
  readonly property?: string | null
}

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

const VERBS = ['read', 'add', 'update', 'delete'] as const

/** Whether a user may do something with an object, and the steps that lead to the answer. */
export function Explain({ question }: { question: Question }) {
  const [verb, setVerb] = useState(question.do)
  const [user, setUser] = useState(question.as)
  const [asked, setAsked] = useState(question.as)
  const { value, error } = useOperation<Explanation>(
    'explain',
    asked === '' ? null : { database: database.value, ...question, as: asked, do: verb },
  )
  return (
    <div class="explain">
      <form
        class="explain-question"
        onSubmit={(event) => {
          event.preventDefault()
          setAsked(user.trim())
        }}
      >
        <span>May</span>
        <input
          aria-label="User"
          placeholder="bob@example.com"
          value={user}
          spellcheck={false}
          onInput={({ currentTarget }) => setUser(currentTarget.value)}
          onBlur={() => setAsked(user.trim())}
        />
        <select
          aria-label="Act"
          value={verb}
          onChange={({ currentTarget }) => setVerb(currentTarget.value as Question['do'])}
        >
          {VERBS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <span class="clip">
          <b>
            <Text text={question.table} />
          </b>{' '}
          {question.key !== null && <Text text={question.key} />}
        </span>
        <button class="small-button">Ask</button>
      </form>
      <Failure error={error} />
      {value !== undefined && asked !== '' && <Answer explanation={value} />}
    </div>
  )
}

function Answer({ explanation }: { explanation: Explanation }) {
  const { allowed, rule, user, object, realm, members } = explanation
  return (
    <div aria-live="polite">
      <p class={`verdict ${allowed ? 'good' : 'bad'}`}>
        <Icon name={allowed ? 'check' : 'close'} />
        <span>
          <b>{allowed ? 'Yes' : 'No'}</b>: <Text text={rule} most={1_000} />.
        </span>
      </p>
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
          own permissions <code>{JSON.stringify(permissions)}</code>
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
            <code>{JSON.stringify(permissions)}</code>
          )}
        </li>
      ))}
    </ul>
  )
}
