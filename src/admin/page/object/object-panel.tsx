import { useEffect, useState } from 'preact/hooks'
import { Explain } from '../explain/explain'
import { feed } from '../live/following'
import { Copy } from '../parts/copy'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { Panel } from '../parts/panel'
import { Segments } from '../parts/segments'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database } from '../shell/route'
import { askToDestroy } from '../shell/destroy'
import { mayShare, ShareObject } from '../sharing/share-object'
import { Editor, isUnknown } from './editor'
import { Seers } from './seers'
import { findDraft, type StoredObject } from './stored'
import { Traces } from './traces'
import { ValueView } from './value-view'

type View = 'value' | 'seers' | 'explain' | 'traces'

interface ObjectPanelProps {
  readonly table: string
  readonly objectKey: string
  readonly onClose: () => void
  readonly onWritten: (how: 'changed' | 'deleted') => void
  /** Adds the text of an edit as an object, where this one is gone. */
  readonly onNew: () => void
}

/** An object: its value, the users who see it, its rights, and its history. */
export function ObjectPanel(props: ObjectPanelProps) {
  const { table, objectKey: key, onClose, onWritten, onNew } = props

  const [view, setView] = useState<View>('value')
  const mayPut = !isReadOnly.value && may('object.put')
  // An edit that another page has interrupted goes on.
  const [isEditing, setIsEditing] = useState(
    () => mayPut && findDraft([database.value, table, key]) !== undefined,
  )
  const input = { database: database.value, table, key }
  const { value: object, error, reload } = useOperation<StoredObject>('object.show', input)
  const mayEdit = object !== undefined && mayPut
  const changedAt = revisionOf(table, key)
  useEffect(() => {
    if (object !== undefined && !isEditing && changedAt > object.revision) reload()
  }, [changedAt, isEditing])
  /** The user to share the object with, or an empty text; null while the dialog is closed. */
  const [sharedWith, setSharedWith] = useState<string | null>(null)
  const [explained, setExplained] = useState<string | null>(null)
  const showChanged = () => {
    reload()
    onWritten('changed')
  }
  const share = object !== undefined && mayShare() ? setSharedWith : undefined
  const edit = () => {
    setView('value')
    setIsEditing(true)
  }
  useShortcut('e', 'Edit the object', edit, mayEdit)
  const choices = [
    ['value', 'Value'],
    ...(may('object.seers') ? ([['seers', 'Who sees it']] as const) : []),
    ...(may('explain') ? ([['explain', 'Explain']] as const) : []),
    ...(may('object.traces') ? ([['traces', 'Time line']] as const) : []),
  ] as const
  return (
    <Panel
      title={key}
      onClose={onClose}
      actions={
        <>
          <Copy text={key} label="Copy the key" />
          {mayEdit && !isEditing && (
            <>
              <button class="plain" title="Edit (e)" aria-label="Edit" onClick={edit}>
                <Icon name="edit" />
              </button>
              <button
                class="plain"
                title="Delete"
                aria-label="Delete"
                onClick={() =>
                  askToDestroy({
                    title: 'Delete the object',
                    done: 'The object was deleted',
                    name: key,
                    operation: 'object.delete',
                    input: { ...input, ifRevision: object.revision },
                    isTyped: false,
                    onDone() {
                      onWritten('deleted')
                      onClose()
                    },
                    // Others may have changed the object.
                    onCancel: reload,
                  })
                }
              >
                <Icon name="trash" />
              </button>
            </>
          )}
        </>
      }
    >
      <Segments label="View" choices={choices} chosen={view} onChoose={setView} />
      <Failure error={error} onAgain={reload} />
      {object === undefined && isEditing && isUnknown(error) && (
        <button onClick={onNew}>Add your text as a new object</button>
      )}
      {object !== undefined && view === 'value' && isEditing && (
        <Editor
          table={table}
          object={object}
          onCancel={() => setIsEditing(false)}
          onNew={onNew}
          onSaved={() => {
            setIsEditing(false)
            showChanged()
          }}
        />
      )}
      {object !== undefined && view === 'value' && !isEditing && <ValueView object={object} />}
      {view === 'seers' && (
        <Seers
          revision={object?.revision}
          table={table}
          objectKey={key}
          realmId={object?.realmId}
          onShare={share && (() => share(''))}
        />
      )}
      {view === 'explain' && (
        <Explain
          // To share the object with a user begins a question about them.
          key={explained}
          revision={object?.revision}
          onShare={share}
          question={{
            as: explained ?? object?.owner ?? '',
            do: 'read',
            table,
            key,
            realm: null,
            property: null,
          }}
        />
      )}
      {view === 'traces' && (
        <Traces
          table={table}
          objectKey={key}
          revision={Math.max(changedAt, object?.revision ?? 0)}
        />
      )}
      {sharedWith !== null && object !== undefined && (
        <ShareObject
          table={table}
          object={object}
          user={sharedWith}
          onClose={() => setSharedWith(null)}
          onShared={(user) => {
            setSharedWith(null)
            setExplained(user)
            showChanged()
          }}
        />
      )}
    </Panel>
  )
}

/** The last revision of the object that Live has heard of, or 0. */
function revisionOf(table: string, key: string): number {
  for (const entry of feed.value.entries) {
    if (!('commit' in entry)) continue
    const { revision, tables } = entry.commit
    if (tables.some((change) => change.table === table && change.keys.includes(key))) {
      return revision
    }
  }
  return 0
}
