import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { SearchField } from '../parts/search-field'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'

interface Facts {
  readonly settings: Readonly<Record<string, string>>
}

/** The settings that the server runs with; secrets are only said to be set. */
export function Settings() {
  const { value, error, reload } = useOperation<Facts>('doctor', { online: false })
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const settings = Object.entries(value?.settings ?? {})
    .filter(([name, text]) => `${name} ${text}`.toLowerCase().includes(wanted))
    .toSorted(([, one], [, other]) => Number(one === '') - Number(other === ''))
  return (
    <div class="body narrow">
      <SearchField label="Name or value" value={search} onInput={setSearch} />
      <Failure error={error} onAgain={reload} />
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {settings.map(([name, text]) => (
            <tr key={name}>
              <th scope="row" class="mono">
                {name}
              </th>
              <td class="wrap">
                {text === '' ? <span class="v-null">not set</span> : <Text text={text} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft small">
        Settings come from the command line, the environment and the settings file:{' '}
        <a href="docs/operations" target="_blank" rel="noopener">
          Run Satchel as a service
        </a>
      </p>
    </div>
  )
}
