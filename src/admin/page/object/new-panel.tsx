import { useEffect, useMemo, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Panel } from '../parts/panel'
import { call } from '../server/call'
import { database, goTo } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { findFault } from './json-fault'
import { JsonField } from './json-field'
import { findDraft, keepDraft, type StoredObject } from './stored'

const FIRST = `{
  "realmId": "rlm-public",
  "title": ""
}`

/** Adds an object to a table; `of` is the key of one that is gone, whose edit goes on. */
export function NewPanel({
  table,
  of,
  onClose,
  onAdded,
}: {
  table: string
  of: string | null
  onClose: () => void
  onAdded: (key: string) => void
}) {
  const place = [database.value, table, ...(of === null ? [] : [of])]
  const [text, setText] = useState(() => findDraft(place)?.text ?? FIRST)
  const [error, setError] = useState<unknown>(undefined)
  const fault = useMemo(() => findFault(text), [text])
  useEffect(() => keepDraft(place, text === FIRST ? null : { text }), [text])
  const save = async () => {
    if (fault !== undefined) return
    try {
      const value: unknown = JSON.parse(text)
      const input = { database: database.value, table, value, ifRevision: 0 }
      const { key } = await call<StoredObject>('object.put', input)
      keepDraft(place, null)
      tellDone('Added')
      onAdded(key)
      onClose()
      goTo('data', table, key)
    } catch (error) {
      setError(error)
    }
  }
  const cancel = () => {
    keepDraft(place, null)
    onClose()
  }
  return (
    <Panel title={`New in ${table}`} onClose={onClose}>
      <div class="editor">
        <p class="soft small">
          Objects of a realm are seen by its members: <code>rlm-public</code> by everybody, the id
          of a user by them alone. Without a key, the server makes one.
        </p>
        <JsonField
          label="The object as JSON"
          text={text}
          fault={fault}
          onInput={setText}
          onSubmit={() => void save()}
        />
        <Failure error={error} />
        <div class="actions">
          <button
            class="main"
            title="Ctrl Enter"
            disabled={fault !== undefined}
            onClick={() => void save()}
          >
            Add
          </button>
          <button onClick={cancel}>Cancel</button>
        </div>
      </div>
    </Panel>
  )
}
