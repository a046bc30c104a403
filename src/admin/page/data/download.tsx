import { Icon } from '../parts/icon'
import { download } from '../server/download'
import { tellError } from '../shell/toasts'
import type { Query } from './use-rows'

/** Saves the objects that the table shows as a file that can be imported, also those that are not on the screen. */
export function Download({ query }: { query: Query }) {
  const save = () => {
    const { newestFirst: _, ...chosen } = query
    return download('export', { format: 'ndjson', ...chosen }, `${query.table}.ndjson`)
  }
  return (
    <button
      title="Save as a file"
      aria-label="Save as a file"
      onClick={() => void save().catch(tellError)}
    >
      <Icon name="download" />
    </button>
  )
}
