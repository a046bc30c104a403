import { useEffect, useMemo, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { Refusal } from '../server/refusal'
import { database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { ByFile } from './by-file'
import { DiffView } from './diff-view'
import { findFault } from './json-fault'
import { JsonField } from './json-field'
import { findDraft, keepDraft, type StoredObject, textOf } from './stored'

/** Longer texts, in characters, are edited as files: a browser takes seconds for each of their changes. */
const LONGEST = 1_000_000

interface EditorProps {
  readonly table: string
  /** The object as it is now. */
  readonly object: StoredObject
  readonly onSaved: () => void
  readonly onCancel: () => void
}

/** Edits an object as JSON: first the text, then its difference, then it is saved unless the object has changed. */
export function Editor({ table, object, onSaved, onCancel }: EditorProps) {
  const place = [database.value, table, object.key]
  const [base, setBase] = useState(() => findDraft(place)?.base ?? object)
  const original = useMemo(() => textOf(base.value), [base])
  const [text, setText] = useState(() => findDraft(place)?.text ?? original)
  const [step, setStep] = useState<'edit' | 'review'>('edit')
  const [stored, setStored] = useState<StoredObject | null>(null)
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setIsBusy] = useState(false)
  useEffect(() => keepDraft(place, text === original ? null : { base, text }), [text, original])

  const fault = useMemo(() => findFault(text), [text])
  const review = () => {
    if (fault === undefined && text !== original) setStep('review')
  }
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
  const isReview = step === 'review'
  return (
    <div class="editor">
      {isReview && (
        <>
          <DiffView before={original} after={text} isFocused />
          <Failure error={error} />
          <div class="actions">
            <button class="main" disabled={isBusy} onClick={() => void save()}>
              Save
            </button>
            <button onClick={() => setStep('edit')}>Back to the text</button>
          </div>
        </>
      )}
      {Math.max(text.length, original.length) > LONGEST ? (
        !isReview && (
          <ByFile
            name={object.key}
            text={text}
            onCancel={cancel}
            onText={(given) => {
              setText(given)
              setStep('review')
            }}
          />
        )
      ) : (
        <>
          <JsonField
            label="The object as JSON"
            text={text}
            fault={fault}
            isShown={!isReview}
            onInput={setText}
            onSubmit={review}
          />
          {!isReview && (
            <div class="actions">
              <button
                class="main"
                title="Ctrl Enter"
                disabled={fault !== undefined || text === original}
                onClick={review}
              >
                Review
              </button>
              <button onClick={cancel}>Cancel</button>
            </div>
          )}
        </>
      )}
    </div>
  )
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
