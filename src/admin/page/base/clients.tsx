import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { DestroyButton } from '../parts/destroy-button'
import { Failure } from '../parts/failure'
import { FormDialog } from '../parts/form-dialog'
import { Icon } from '../parts/icon'
import { Section } from '../parts/section'
import { shortText, Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may, session } from '../server/session'
import { database } from '../shell/route'
import { type Secret, SecretDialog } from './secret-dialog'

interface Client {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly scopes: readonly string[]
  readonly created: number
  readonly expires: number | null
  readonly isPending: boolean
}

/** The API clients of the database. */
export function Clients() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<readonly Client[]>('client.list', input)
  const [isAdding, setIsAdding] = useState(false)
  const [replaced, setReplaced] = useState<Client | null>(null)
  const [secret, setSecret] = useState<Secret | null>(null)
  const isWriting = may('client.create') && !isReadOnly.value
  return (
    <Section title="Clients" isBox onAdd={isWriting && (() => setIsAdding(true))}>
      <p class="soft small">
        Backends and service accounts issue tokens with their id and secret. The secret is shown
        once.
      </p>
      <Failure error={error} />
      <ul class="rows">
        {value?.map((client) => (
          <ClientRow
            key={client.id}
            client={client}
            onReplace={() => setReplaced(client)}
            onChange={reload}
          />
        ))}
      </ul>
      {isAdding && (
        <NewClient
          onClose={() => setIsAdding(false)}
          onAdded={(made) => {
            setIsAdding(false)
            setSecret(made)
            reload()
          }}
        />
      )}
      {replaced !== null && (
        <ReplaceClient
          client={replaced}
          onClose={() => setReplaced(null)}
          onReplaced={(made) => {
            setReplaced(null)
            setSecret(made)
            reload()
          }}
        />
      )}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Section>
  )
}

function ClientRow({
  client,
  onReplace,
  onChange,
}: {
  client: Client
  onReplace: () => void
  onChange: () => void
}) {
  const { id, name, email, scopes, created, expires, isPending } = client
  return (
    <li>
      <span class="list-main">
        <span class="clip">
          <Text text={name ?? email ?? id} />
        </span>
        <span class="soft small clip mono">{id}</span>
        <span class="soft small">{scopes.join(' · ')}</span>
      </span>
      {isPending && <span class="badge info">not fetched yet</span>}
      {expires !== null && (
        <span class="badge warn">
          ends <Ago at={expires} />
        </span>
      )}
      <span class="soft small">
        <Ago at={created} />
      </span>
      {may('client.rotate') && !isReadOnly.value && !isPending && (
        <button
          class="plain"
          title="Replace its secret"
          aria-label={`Replace ${shortText(name ?? id)}`}
          onClick={onReplace}
        >
          <Icon name="reload" />
        </button>
      )}
      {may('client.revoke') && !isReadOnly.value && (
        <DestroyButton
          label={`Revoke ${name ?? id}`}
          tip="Revoke"
          title="Revoke the client"
          done="The client was revoked"
          text="Its tokens end with it."
          name={id}
          operation="client.revoke"
          input={{ database: database.value, id }}
          isTyped={false}
          onDone={onChange}
        />
      )}
    </li>
  )
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** The id and the secret of a client, which are shown once. */
function secretOf({ clientId, clientSecret }: Credentials): Secret {
  return {
    title: 'A new client',
    values: [
      ['Id', clientId],
      ['Secret', clientSecret],
    ],
  }
}

/** Puts a new client in the place of another one, which works for some days more. */
function ReplaceClient({
  client: { id, name },
  onClose,
  onReplaced,
}: {
  client: Client
  onClose: () => void
  onReplaced: (secret: Secret) => void
}) {
  const [days, setDays] = useState(7)
  const replace = async () => {
    onReplaced(secretOf(await call('client.rotate', { database: database.value, id, days })))
  }
  return (
    <FormDialog title="Replace the client" action="Replace" onSubmit={replace} onClose={onClose}>
      <p>
        A new client with the name and the scopes of <Text text={name ?? id} /> takes its place.
      </p>
      <label>
        <span>Days for which the old one works as well</span>
        <input
          autofocus
          required
          type="number"
          min="0"
          max="365"
          value={days}
          onInput={({ currentTarget }) => setDays(currentTarget.valueAsNumber)}
        />
      </label>
    </FormDialog>
  )
}

function NewClient({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (secret: Secret) => void
}) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(['ACCESS_DB', 'GLOBAL_READ'])
  const all = session.value?.scopes ?? []
  const add = async () => {
    const made = await call<Credentials>('client.create', {
      database: database.value,
      scopes,
      name: name.trim(),
    })
    onAdded(secretOf(made))
  }
  const toggle = (scope: string) =>
    setScopes(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope])
  return (
    <FormDialog title="Add a client" action="Add" onSubmit={add} onClose={onClose}>
      <label>
        <span>Name</span>
        <input
          autofocus
          required
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <fieldset class="checks">
        <legend>Scopes</legend>
        {all.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={() => toggle(scope)}
            />
            <span class="mono">{scope}</span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  )
}
