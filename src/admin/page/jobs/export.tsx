import { useState } from 'preact/hooks'
import { download } from '../server/download'
import { database } from '../shell/route'
import { tellError } from '../shell/toasts'

const FORMATS = [
  ['zip', 'A zip archive, with all blobs'],
  ['ndjson', 'Lines of JSON'],
  ['json', 'JSON'],
] as const

/** Saves the database, or one table of it, as a file. */
export function Export() {
  const [format, setFormat] = useState<string>('zip')
  const [table, setTable] = useState('')
  const save = async () => {
    const name = `${database.value}${table === '' ? '' : `-${table}`}.${format}`
    const input = { database: database.value, format, table: table === '' ? null : table }
    await download('export', input, name)
  }
  return (
    <form
      class="part form"
      onSubmit={(event) => {
        event.preventDefault()
        save().catch(tellError)
      }}
    >
      <h2>Export</h2>
      <label>
        <span>Format</span>
        <select value={format} onChange={({ currentTarget }) => setFormat(currentTarget.value)}>
          {FORMATS.map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Only this table</span>
        <input
          value={table}
          placeholder="All tables"
          onInput={({ currentTarget }) => setTable(currentTarget.value.trim())}
        />
      </label>
      <div class="actions">
        <button class="main">Save as a file</button>
      </div>
    </form>
  )
}
