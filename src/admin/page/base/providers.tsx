import { useState } from 'preact/hooks'
import { DestroyButton } from '../parts/destroy-button'
import { Failure } from '../parts/failure'
import { Section } from '../parts/section'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { useTask } from '../server/task'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { NewProvider } from './new-provider'

interface Provider {
  readonly name: string
  readonly type: string
  readonly displayName?: string | null
  readonly clientId: string
  readonly callbackUrl: string | null
}

/** The login providers of the database. */
export function Providers() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<readonly Provider[]>('provider.list', input)
  const [isAdding, setIsAdding] = useState(false)
  return (
    <Section
      title="Login providers"
      isBox
      onAdd={may('provider.add') && !isReadOnly.value && (() => setIsAdding(true))}
    >
      <Failure error={error} />
      <ul class="rows">
        {value?.map((provider) => (
          <ProviderRow key={provider.name} provider={provider} onChange={reload} />
        ))}
        {value?.length === 0 && (
          <li class="soft">
            None: people log in with a code by mail, unless Google, Microsoft, GitHub, Apple or
            another one is added.
          </li>
        )}
      </ul>
      {isAdding && (
        <NewProvider
          onClose={() => setIsAdding(false)}
          onAdded={() => {
            setIsAdding(false)
            reload()
          }}
        />
      )}
    </Section>
  )
}

function ProviderRow({ provider, onChange }: { provider: Provider; onChange: () => void }) {
  const { name, type, displayName, callbackUrl } = provider
  const test = useTask<unknown>()
  const input = { database: database.value, name }
  return (
    <li>
      <span class="list-main">
        <Text text={displayName ?? name} />
        <span class="soft small clip">
          {type} <Text text={callbackUrl ?? 'no public address'} />
        </span>
      </span>
      {test.result !== undefined && <span class="badge good">answers</span>}
      {may('provider.test') && (
        <button
          class="small-button"
          disabled={test.isBusy}
          onClick={() => void test.run('provider.test', input)}
        >
          Try
        </button>
      )}
      {may('provider.remove') && !isReadOnly.value && (
        <DestroyButton
          label={`Remove ${name}`}
          title="Remove the login provider"
          done="The login provider was removed"
          name={name}
          operation="provider.remove"
          input={input}
          isTyped={false}
          onDone={onChange}
        />
      )}
      <Failure error={test.error} />
    </li>
  )
}
