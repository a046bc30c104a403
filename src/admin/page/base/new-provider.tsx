import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

type FieldName =
  | 'name'
  | 'displayName'
  | 'tenant'
  | 'teamId'
  | 'keyId'
  | 'issuer'
  | 'authorizationUrl'
  | 'tokenUrl'
  | 'userInfoUrl'
  | 'iconUrl'

const NAMES: readonly (readonly [FieldName, string])[] = [
  ['name', 'Name in addresses'],
  ['displayName', 'Text of its button'],
]

const PLACEHOLDERS: Partial<Record<FieldName, string>> = {
  tenant: 'common',
  issuer: 'https://login.example.com',
  iconUrl: 'https://example.com/icon.svg',
}
const ICON: readonly (readonly [FieldName, string])[] = [['iconUrl', 'Picture for its button']]

/** The types of providers, each with the fields that only it has. */
const TYPES: Readonly<Record<string, readonly (readonly [FieldName, string])[]>> = {
  google: [],
  microsoft: [['tenant', 'Tenant']],
  github: [],
  apple: [
    ['teamId', 'Team'],
    ['keyId', 'Id of the private key'],
  ],
  'custom-oauth2': [
    ['issuer', 'Issuer, which has a discovery document'],
    ['authorizationUrl', 'Without one: its login page'],
    ['tokenUrl', 'Without one: its token endpoint'],
    ['userInfoUrl', 'Without one: its user info endpoint'],
  ],
}

/** Adds a login provider; one with the same name is replaced. */
export function NewProvider({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const [type, setType] = useState('google')
  const [clientId, setClientId] = useState('')
  const [secret, setSecret] = useState('')
  const [values, setValues] = useState<Partial<Record<FieldName, string>>>({})
  const [scopes, setScopes] = useState('')
  const [trustsEmail, setTrustsEmail] = useState(false)
  const fields = [...(TYPES[type] ?? []), ...NAMES]
  const add = async () => {
    const given = [...fields, ...ICON].flatMap(([name]) => {
      const value = values[name]?.trim() ?? ''
      return value === '' ? [] : [[name, value] as const]
    })
    const named = scopes.split(/[\s,]+/).filter((scope) => scope !== '')
    const input = {
      database: database.value,
      type,
      clientId: clientId.trim(),
      trustsEmail,
      ...(named.length === 0 ? {} : { scopes: named }),
    }
    const upload = secret.trim() === '' ? {} : { upload: new Blob([secret]) }
    const { name } = await call<{ readonly name: string }>(
      'provider.add',
      { ...input, ...Object.fromEntries(given) },
      upload,
    )
    tellDone(`People can log in with ${name}`)
    onAdded()
  }
  const fieldOf = ([name, title]: readonly [FieldName, string]) => (
    <label key={name}>
      <span>{title}</span>
      <input
        spellcheck={false}
        autocomplete="off"
        placeholder={PLACEHOLDERS[name] ?? (name === 'name' ? type : '')}
        value={values[name] ?? ''}
        onInput={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
      />
    </label>
  )
  return (
    <FormDialog title="Add a login provider" action="Add" onSubmit={add} onClose={onClose}>
      <label>
        <span>Type</span>
        <select value={type} onChange={({ currentTarget }) => setType(currentTarget.value)}>
          {Object.keys(TYPES).map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Client id at the provider</span>
        <input
          autofocus
          required
          spellcheck={false}
          autocomplete="off"
          value={clientId}
          onInput={({ currentTarget }) => setClientId(currentTarget.value)}
        />
      </label>
      <label>
        <span>{type === 'apple' ? 'Private key (.p8)' : 'Client secret'}</span>
        <textarea
          class="mono"
          rows={type === 'apple' ? 5 : 1}
          spellcheck={false}
          autocomplete="off"
          placeholder="none was issued"
          value={secret}
          onInput={({ currentTarget }) => setSecret(currentTarget.value)}
        />
      </label>
      {fields.map(fieldOf)}
      <details class="more-fields">
        <summary>More</summary>
        <div class="form">
          <label>
            <span>Scopes to request</span>
            <input
              spellcheck={false}
              autocomplete="off"
              placeholder="Those that tell the address and the name"
              value={scopes}
              onInput={({ currentTarget }) => setScopes(currentTarget.value)}
            />
          </label>
          {ICON.map(fieldOf)}
          <label class="check">
            <input
              type="checkbox"
              checked={trustsEmail}
              onChange={({ currentTarget }) => setTrustsEmail(currentTarget.checked)}
            />
            <span>
              Accept its e-mail addresses although it does not say that it has verified them
            </span>
          </label>
        </div>
      </details>
      <p class="soft small">
        <a href="docs/login" target="_blank" rel="noopener">
          How to get a client id of each provider
        </a>
      </p>
    </FormDialog>
  )
}
