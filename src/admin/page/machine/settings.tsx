import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { SearchField } from '../parts/search-field'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'

interface Setting {
  readonly name: string
  /** Empty when it is not set; `set` for a secret. */
  readonly value: string
  /** Null for the default. */
  readonly source: string | null
}

/** The settings that the server runs with; of secrets it only says that they are set. */
export function Settings() {
  const { value, error, reload } = useOperation<{ readonly settings: readonly Setting[] }>(
    'server.show',
    {},
  )
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const settings = (value?.settings ?? [])
    .filter(({ name, value: text }) => `${name} ${text}`.toLowerCase().includes(wanted))
    .toSorted((one, other) => rankOf(one) - rankOf(other))
  return (
    <div class="body narrow">
      <SearchField label="Name or value" value={search} onInput={setSearch} />
      <Failure error={error} onAgain={reload} />
      {value !== undefined && (
        <>
          <table class="sheet">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">Value</th>
                <th scope="col" class="wide-only">
                  Source
                </th>
              </tr>
            </thead>
            <tbody>
              {settings.map(({ name, value: text, source }) => (
                <tr key={name}>
                  <th scope="row" class="mono">
                    {name}
                    {source !== null && (
                      <span class="narrow-only soft small">
                        {' '}
                        <Text text={source} />
                      </span>
                    )}
                  </th>
                  <td class="wrap">
                    {text === '' ? <span class="v-null">not set</span> : <Text text={text} />}
                  </td>
                  <td class="soft wide-only">
                    {source === null ? 'default' : <Text text={source} />}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="soft small">
            <a href="docs/operations" target="_blank" rel="noopener">
              Run Satchel as a service
            </a>{' '}
            says what each setting does.
          </p>
        </>
      )}
    </div>
  )
}

/** Those that somebody has set come first, and those without a value last. */
function rankOf({ value, source }: Setting): number {
  if (source !== null) return 0
  return value === '' ? 2 : 1
}
