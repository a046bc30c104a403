import { usePaused } from '../parts/paused-search'
import { SearchField } from '../parts/search-field'

const WAYS = { search: 'Contains', filter: 'Equals', prefix: 'Key begins' } as const

export interface Finding {
  readonly way: keyof typeof WAYS
  readonly text: string
}

export const NO_FINDING: Finding = { way: 'search', text: '' }

/** The part of the query of a table. */
export function queryOf({ way, text }: Finding): { readonly [Way in Finding['way']]?: string } {
  return text.trim() === '' ? {} : { [way]: way === 'prefix' ? text : text.trim() }
}

/** Searches a table: for a text in its objects, for equal values, or for the beginning of keys. */
export function FindBar({
  finding,
  onFind,
}: {
  finding: Finding
  onFind: (finding: Finding) => void
}) {
  const [text, setText] = usePaused(finding.text, (text) => onFind({ ...finding, text }))
  return (
    <div class="joined">
      <select
        aria-label="How to search"
        value={finding.way}
        onChange={({ currentTarget }) =>
          onFind({ way: currentTarget.value as Finding['way'], text })
        }
      >
        {Object.entries(WAYS).map(([way, title]) => (
          <option key={way} value={way}>
            {title}
          </option>
        ))}
      </select>
      <SearchField
        label={finding.way === 'filter' ? 'done=false' : 'Search'}
        value={text}
        onInput={setText}
        onEnter={() => onFind({ ...finding, text })}
      />
    </div>
  )
}
