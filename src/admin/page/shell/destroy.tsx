import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { tellDone } from './toasts'
import { Text } from '../parts/text'

/** The order to destroy something, which a person confirms by its name. */
export interface Destruction {
  readonly title: string
  /** What is lost, in a sentence. */
  readonly text?: string
  /** The rest of the sentence that begins with the name; by default that it cannot be brought back. */
  readonly fate?: string
  /** The name of what is destroyed, which the server wants repeated. */
  readonly name: string
  /** The name by which people know it, where that is another one. */
  readonly shown?: string
  readonly operation: string
  readonly input: object
  /** True for what a person types the name of; else a click is enough. */
  readonly isTyped?: boolean
  /** A sentence that tells that it was done. */
  readonly done: string
  readonly onDone?: () => void
  /** Called when the question is closed, and nothing was done yet. */
  readonly onCancel?: () => void
}

const asked = signal<Destruction | null>(null)

export function askToDestroy(destruction: Destruction): void {
  asked.value = destruction
}

/** Asks before something is destroyed. */
export function Destroying() {
  return asked.value === null ? null : <Question key={asked.value.name} destruction={asked.value} />
}

function Question({ destruction }: { destruction: Destruction }) {
  const { title, text, name, shown = name, operation, input, done } = destruction
  const { isTyped = true, fate = 'cannot be brought back.', onDone, onCancel } = destruction
  const [typed, setTyped] = useState('')
  // An order that ends after its question was closed leaves the next question open.
  const close = () => {
    if (asked.value === destruction) asked.value = null
  }
  const destroy = async () => {
    await call(operation, { ...input, confirm: name })
    close()
    tellDone(done)
    onDone?.()
  }
  return (
    <FormDialog
      title={title}
      action={title}
      isDanger
      isReady={!isTyped || typed === name}
      onSubmit={destroy}
      onClose={() => {
        close()
        onCancel?.()
      }}
    >
      {text !== undefined && <p>{text}</p>}
      <p>
        <span class="mono">
          <Text text={shown} />
        </span>{' '}
        {fate}
      </p>
      {isTyped && (
        <label>
          <span>Type its name</span>
          <input
            autofocus
            value={typed}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
    </FormDialog>
  )
}
