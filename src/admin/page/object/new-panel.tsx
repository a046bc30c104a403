import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Panel } from '../parts/panel'
import { call } from '../server/call'
import { database, goTo } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { findFault } from './editor'
import type { StoredObject } from './stored'

const FIRST = `{
  "realmId": "rlm-public",
  "title": ""
}`

/** Adds an object to a table. */
export function NewPanel({ table, onClose }: { table: string; onClose: () => void }) {
  const [text, setText] = useState(FIRST)
  const [error, setError] = useState<unknown>(undefined)
  const fault = findFault(text)
  const save = async () => {
    try {
      const value: unknown = JSON.parse(text)
      const input = { database: database.value, table, value, ifRevision: 0 }
      const { key } = await call<StoredObject>('object.put', input)
      tellDone('Added')
      onClose()
      goTo('data', table, key)
    } catch (error) {
      setError(error)
    }
  }
  return (
    <Panel title={`New in ${table}`} onClose={onClose}>
      <div class="editor">
        <p class="soft small">
          Objects of a realm are seen by its members: <code>rlm-public</code> by everybody, the id
          of a user by them alone. Without a key, the server makes one.
        </p>
        <textarea
          autofocus
          aria-label="The object as JSON"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Failure error={fault ?? error} />
        <div class="actions">
          <button class="main" disabled={fault !== undefined} onClick={() => void save()}>
            Add
          </button>
          <button onClick={onClose}>Cancel</button>
        </div>
      </div>
    </Panel>
  )
}
