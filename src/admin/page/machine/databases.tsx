import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { FormDialog } from '../parts/form-dialog'
import { Icon } from '../parts/icon'
import { Section } from '../parts/section'
import { call } from '../server/call'
import { download } from '../server/download'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { type Secret, SecretDialog } from '../base/secret-dialog'
import { chooseDatabase } from '../shell/route'
import { reloadDatabases } from '../shell/databases'
import { tellError } from '../shell/toasts'

interface Listed {
  readonly name: string
  readonly url: string
}

/** Commands and other people add and delete some, too. */
const EVERY_MS = 2_000

/** The databases of the server: new ones, and backups of each. */
export function Databases() {
  const { value, error, reload } = useOperation<readonly Listed[]>(
    'db.list',
    {},
    { every: EVERY_MS },
  )
  const [isAdding, setIsAdding] = useState(false)
  const [secret, setSecret] = useState<Secret | null>(null)
  const isWriting = !isReadOnly.value
  const done = () => {
    reload()
    void reloadDatabases()
  }
  const save = (name: string) =>
    download('backup', { database: name }, `${name}.satchel-backup`).catch(tellError)
  return (
    <div class="body narrow">
      <Section title="Databases" onAdd={may('db.create') && isWriting && (() => setIsAdding(true))}>
        <Failure error={error} onAgain={reload} />
        <ul class="rows">
          {value?.map(({ name, url }) => (
            <li key={name}>
              <span class="list-main">
                <button class="row-button" onClick={() => chooseDatabase(name)}>
                  {name}
                </button>
                <span class="soft small">{url}</span>
              </span>
              {may('backup') && isWriting && (
                <button class="small-button" onClick={() => void save(name)}>
                  <Icon name="download" />
                  Backup
                </button>
              )}
            </li>
          ))}
        </ul>
      </Section>
      {isAdding && (
        <NewDatabase
          onClose={() => setIsAdding(false)}
          onAdded={(made) => {
            setIsAdding(false)
            setSecret(made)
            done()
          }}
        />
      )}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </div>
  )
}

function NewDatabase({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (secret: Secret) => void
}) {
  const [name, setName] = useState('')
  const add = async () => {
    const { url, client } = await call<{
      url: string
      client: { clientId: string; clientSecret: string }
    }>('db.create', { name: name.trim() })
    onAdded({
      title: `The database ${name.trim()}`,
      values: [
        ['Address', url],
        ['Id of the first client', client.clientId],
        ['Secret', client.clientSecret],
      ],
    })
  }
  return (
    <FormDialog title="Add a database" action="Add" onSubmit={add} onClose={onClose}>
      <label>
        <span>Name</span>
        <input
          autofocus
          required
          value={name}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
    </FormDialog>
  )
}
