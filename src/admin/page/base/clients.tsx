import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { FormDialog } from '../parts/form-dialog'
import { Icon } from '../parts/icon'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may, session } from '../server/session'
import { askToDestroy } from '../shell/destroy'
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
  const [secret, setSecret] = useState<Secret | null>(null)
  const isWriting = may('client.create') && !isReadOnly.value
  return (
    <section class="part box">
      <header>
        <h2>Clients</h2>
        {isWriting && (
          <button class="small-button" onClick={() => setIsAdding(true)}>
            <Icon name="plus" />
            Add
          </button>
        )}
      </header>
      <p class="soft small">
        Backends and service accounts issue tokens with their id and secret. The secret is shown
        once.
      </p>
      <Failure error={error} />
      <ul class="rows">
        {value?.map((client) => (
          <ClientRow key={client.id} client={client} onChange={reload} />
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
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </section>
  )
}

function ClientRow({ client, onChange }: { client: Client; onChange: () => void }) {
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
      {may('client.revoke') && !isReadOnly.value && (
        <button
          class="plain"
          aria-label={`Revoke ${name ?? id}`}
          title="Revoke"
          onClick={() =>
            askToDestroy({
              title: 'Revoke the client',
              done: 'The client was revoked',
              text: 'Its tokens end with it.',
              name: id,
              operation: 'client.revoke',
              input: { database: database.value, id },
              isTyped: false,
              onDone: onChange,
            })
          }
        >
          <Icon name="trash" />
        </button>
      )}
    </li>
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
    const made = await call<{ clientId: string; clientSecret: string }>('client.create', {
      database: database.value,
      scopes,
      name: name.trim(),
    })
    onAdded({
      title: 'A new client',
      values: [
        ['Id', made.clientId],
        ['Secret', made.clientSecret],
      ],
    })
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
