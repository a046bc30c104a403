import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { FormDialog } from '../parts/form-dialog'
import { database, hrefOf } from '../shell/route'
import { tellDone } from '../shell/toasts'

interface SchemaReport {
  /** Null for a hidden table. */
  readonly schema: Readonly<Record<string, string | null>>
  readonly sealed: boolean
}

/** The tables that are declared, with their keys and indexes. */
export function Schema() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<SchemaReport>('schema.show', input)
  const [isEditing, setIsEditing] = useState(false)
  return (
    <section class="part box">
      <header>
        <h2>Schema</h2>
        {may('schema.push') && !isReadOnly.value && value !== undefined && (
          <button class="small-button" onClick={() => setIsEditing(true)}>
            Change
          </button>
        )}
      </header>
      <Failure error={error} />
      <ul class="rows">
        {Object.entries(value?.schema ?? {}).map(([name, stores]) => (
          <li key={name}>
            <a href={hrefOf('data', name)}>
              <Text text={name} />
            </a>
            <code class="soft">{stores === null ? 'hidden' : <Text text={stores} />}</code>
          </li>
        ))}
        {value !== undefined && Object.keys(value.schema).length === 0 && (
          <li class="soft">No table is declared yet.</li>
        )}
      </ul>
      {value?.sealed === true && <p class="soft small">Clients cannot add tables.</p>}
      {isEditing && value !== undefined && (
        <SchemaDialog
          text={JSON.stringify(value.schema, null, 2)}
          onClose={() => setIsEditing(false)}
          onDone={() => {
            setIsEditing(false)
            reload()
          }}
        />
      )}
    </section>
  )
}

function SchemaDialog({
  text: before,
  onClose,
  onDone,
}: {
  text: string
  onClose: () => void
  onDone: () => void
}) {
  const [text, setText] = useState(before)
  const push = async () => {
    await call('schema.push', { database: database.value }, { upload: new Blob([text]) })
    tellDone('The schema was declared')
    onDone()
  }
  return (
    <FormDialog title="Declare tables" action="Declare" onSubmit={push} onClose={onClose}>
      <p class="soft small">
        Names with stores, as Dexie declares them. New indexes are built in the background; a table
        with null is hidden.
      </p>
      <textarea
        autofocus
        rows={12}
        aria-label="The schema as JSON"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </FormDialog>
  )
}
