import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { Refusal } from '../server/refusal'
import { database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { DiffView } from './diff-view'
import { findDraft, keepDraft, type StoredObject, textOf } from './stored'

interface EditorProps {
  readonly table: string
  /** The object as it was when the edit began. */
  readonly object: StoredObject
  readonly onSaved: () => void
  readonly onCancel: () => void
}

/** Edits an object as JSON: first the text, then its difference, then it is saved unless the object has changed. */
export function Editor({ table, object, onSaved, onCancel }: EditorProps) {
  const place = [database.value, table, object.key]
  const [base, setBase] = useState(object)
  const [text, setText] = useState(() => findDraft(place) ?? textOf(object.value))
  const [step, setStep] = useState<'edit' | 'review'>('edit')
  const [stored, setStored] = useState<StoredObject | null>(null)
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setIsBusy] = useState(false)
  const original = textOf(base.value)
  useEffect(() => keepDraft(place, text === original ? null : text), [text, original])

  const fault = findFault(text)
  const save = async () => {
    setIsBusy(true)
    setError(undefined)
    try {
      const input = { database: database.value, table, key: object.key, value: JSON.parse(text) }
      const saved = await call<StoredObject>('object.put', { ...input, ifRevision: base.revision })
      keepDraft(place, null)
      tellDone('Saved', { label: 'Undo', run: () => void undo(saved).catch(tellError) })
      onSaved()
    } catch (error) {
      setError(error)
      if (isStale(error)) setStored(await showAgain(table, object.key))
    } finally {
      setIsBusy(false)
    }
  }
  /** Puts the object back, unless somebody has changed it since. */
  const undo = async ({ revision }: StoredObject) => {
    const input = { database: database.value, table, key: object.key, value: base.value }
    await call('object.put', { ...input, ifRevision: revision })
    tellDone('The object is as it was')
    onSaved()
  }
  const takeOver = (now: StoredObject, keepsText: boolean) => {
    setBase(now)
    if (!keepsText) setText(textOf(now.value))
    setStored(null)
    setError(undefined)
    setStep(keepsText ? 'review' : 'edit')
  }
  const cancel = () => {
    keepDraft(place, null)
    onCancel()
  }

  if (stored !== null) {
    return (
      <div class="editor">
        <Failure error={error} />
        <h3>Changed by others since you began</h3>
        <DiffView before={original} after={textOf(stored.value)} />
        <h3>Your text, compared with the object as it is now</h3>
        <DiffView before={textOf(stored.value)} after={text} />
        <div class="actions">
          <button class="main" onClick={() => takeOver(stored, true)}>
            Go on with your text
          </button>
          <button onClick={() => takeOver(stored, false)}>Begin again with the object</button>
        </div>
      </div>
    )
  }
  if (step === 'review') {
    return (
      <div class="editor">
        <DiffView before={original} after={text} />
        <Failure error={error} />
        <div class="actions">
          <button class="main" disabled={isBusy} onClick={() => void save()}>
            Save
          </button>
          <button onClick={() => setStep('edit')}>Back to the text</button>
        </div>
      </div>
    )
  }
  return (
    <div class="editor">
      <textarea
        autofocus
        aria-label="The object as JSON"
        aria-invalid={fault !== undefined}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && fault === undefined) {
            setStep('review')
          }
        }}
      />
      {fault !== undefined && <Failure error={fault} />}
      <div class="actions">
        <button
          class="main"
          title="Ctrl Enter"
          disabled={fault !== undefined || text === original}
          onClick={() => setStep('review')}
        >
          Review
        </button>
        <button onClick={cancel}>Cancel</button>
      </div>
    </div>
  )
}

/** The reason why the text is no object, for people. */
export function findFault(text: string): Error | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? undefined : new Error('An object is expected, in braces')
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function isStale(error: unknown): boolean {
  return (
    error instanceof Refusal && error.code === 'CONFLICT' && error.more['reason'] === 'revision'
  )
}

/** Null when the object was deleted meanwhile. */
function showAgain(table: string, key: string): Promise<StoredObject | null> {
  const input = { database: database.value, table, key }
  return call<StoredObject>('object.show', input).catch(() => null)
}
