import { useEffect, useMemo, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { inSlices } from '../parts/slices'
import { useSlices } from '../parts/use-slices'
import { call } from '../server/call'
import { Refusal } from '../server/refusal'
import { database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { ByFile } from './by-file'
import { DiffView } from './diff-view'
import { findFault } from './json-fault'
import { JsonField } from './json-field'
import { Preparing } from './preparing'
import { findDraft, keepDraft, type StoredObject } from './stored'
import { textSteps } from './text'

/** Longer texts, in characters, are edited as files: a browser takes seconds for each of their changes. */
const LONGEST = 1_000_000

interface EditorProps {
  readonly table: string
  /** The object as it is now. */
  readonly object: StoredObject
  readonly onSaved: () => void
  readonly onCancel: () => void
  /** Adds the text as an object, where others have deleted this one. */
  readonly onNew: () => void
}

/** An object with its text. */
interface Base {
  readonly object: StoredObject
  readonly text: string
}

/** Edits an object as JSON: first the text, then its difference, then it is saved unless the object has changed. */
export function Editor(props: EditorProps) {
  const { table, object } = props
  const [began] = useState(() => findDraft([database.value, table, object.key])?.base ?? object)
  const text = useSlices(() => textSteps(began.value), [began])
  return text === undefined ? (
    <Preparing />
  ) : (
    <TextEditor {...props} began={{ object: began, text }} />
  )
}

interface TextEditorProps extends EditorProps {
  readonly began: Base
}

function TextEditor({ table, object, began, onSaved, onCancel, onNew }: TextEditorProps) {
  // Undo goes there, too, whatever database is chosen then.
  const [name] = useState(database.value)
  const place = [name, table, object.key]
  const [base, setBase] = useState(began)
  const original = base.text
  const [text, setText] = useState(() => findDraft(place)?.text ?? original)
  const [step, setStep] = useState<'edit' | 'review'>('edit')
  const [stored, setStored] = useState<Base | null>(null)
  const [error, setError] = useState<unknown>(undefined)
  const [isGone, setIsGone] = useState(false)
  const [isBusy, setIsBusy] = useState(false)
  useEffect(
    () => keepDraft(place, text === original ? null : { base: base.object, text }),
    [text, original],
  )

  const isLarge = Math.max(text.length, original.length) > LONGEST
  // A file is looked at when it is chosen.
  const fault = useMemo(() => (isLarge ? undefined : findFault(text)), [text, isLarge])
  const review = () => {
    if (fault === undefined && text !== original) setStep('review')
  }
  const save = async () => {
    setIsBusy(true)
    setError(undefined)
    try {
      const saved = await put(text, base.object.revision)
      keepDraft(place, null)
      tellDone('Saved', { label: 'Undo', run: () => void undo(saved).catch(tellError) })
      onSaved()
    } catch (error) {
      setError(error)
      if (isStale(error)) await compare()
    } finally {
      setIsBusy(false)
    }
  }
  const input = { database: name, table, key: object.key }
  const put = (value: string, ifRevision: number) =>
    call<StoredObject>('object.put', { ...input, ifRevision }, { json: { value } })
  /** Shows the object as it is now. */
  const compare = async () => {
    try {
      const now = await call<StoredObject>('object.show', input)
      setStored({ object: now, text: await inSlices(textSteps(now.value)) })
    } catch (error) {
      setIsGone(isUnknown(error))
    }
  }
  /** Puts the object back, unless somebody has changed it since. */
  const undo = async ({ revision }: StoredObject) => {
    await put(original, revision)
    tellDone('The object is as it was')
    onSaved()
  }
  const takeOver = (now: Base, keepsText: boolean) => {
    setBase(now)
    if (!keepsText) setText(now.text)
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
        <DiffView before={original} after={stored.text} />
        <h3>Your text, compared with the object as it is now</h3>
        <DiffView before={stored.text} after={text} />
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
            {isGone ? (
              <button class="main" onClick={onNew}>
                Add it as a new object
              </button>
            ) : (
              <button class="main" disabled={isBusy} onClick={() => void save()}>
                Save
              </button>
            )}
            <button onClick={() => setStep('edit')}>Back to the text</button>
          </div>
        </>
      )}
      {isLarge ? (
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

/** True when there is no object with the key. */
export function isUnknown(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'UNKNOWN_OBJECT'
}
