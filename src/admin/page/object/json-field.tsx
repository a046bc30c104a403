import { useEffect, useRef, useState } from 'preact/hooks'
import type { JsonEditor } from './json-editor'
import type { JsonFault } from './json-fault'

const HINT = 'Tab indents. To leave the field, press Esc and then Tab.'

interface JsonFieldProps {
  readonly label: string
  /** The text at first. */
  readonly text: string
  readonly fault: JsonFault | undefined
  /** False while another step hides it, which keeps what can be undone. */
  readonly isShown?: boolean
  readonly onInput: (text: string) => void
  readonly onSubmit: () => void
}

/** A field for JSON: an editor that is loaded now, or a plain field where it cannot be loaded. */
export function JsonField(props: JsonFieldProps) {
  const { label, fault, isShown = true } = props
  const host = useRef<HTMLDivElement>(null)
  const plain = useRef<HTMLTextAreaElement>(null)
  const editor = useRef<JsonEditor | null>(null)
  const latest = useRef(props)
  latest.current = props
  const [state, setState] = useState<'loading' | 'open' | 'plain'>('loading')

  useEffect(() => {
    let isGone = false
    const open = async () => {
      const { openJsonEditor } = await import('./json-editor')
      if (isGone || host.current === null) return
      editor.current = openJsonEditor(host.current, {
        label,
        description: HINT,
        text: latest.current.text,
        onInput: (text) => latest.current.onInput(text),
        onSubmit: () => latest.current.onSubmit(),
      })
      setState('open')
    }
    open().catch(() => setState('plain'))
    return () => {
      isGone = true
      editor.current?.[Symbol.dispose]()
    }
  }, [])
  useEffect(() => {
    if (isShown) (editor.current ?? plain.current)?.focus()
  }, [isShown, state])
  useEffect(() => editor.current?.mark(fault?.offset ?? null), [fault?.offset, state])

  const goTo = (offset: number) => {
    if (editor.current !== null) editor.current.goTo(offset)
    plain.current?.focus()
    plain.current?.setSelectionRange(offset, offset)
  }
  const keyDown = (event: KeyboardEvent) => {
    // Esc is the way out of the field, not out of the panel.
    if (event.key === 'Escape') event.stopPropagation()
    const isSubmit = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
    if (isSubmit && state === 'plain') latest.current.onSubmit()
  }
  return (
    <div class="json-field" hidden={!isShown} onKeyDown={keyDown}>
      {state === 'plain' ? (
        <textarea
          ref={plain}
          aria-label={label}
          aria-invalid={fault !== undefined}
          spellcheck={false}
          value={props.text}
          onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        />
      ) : (
        <div
          ref={host}
          class={`json-editor ${fault === undefined ? '' : 'wrong'}`}
          aria-busy={state === 'loading'}
        />
      )}
      <p class="json-hint small" role="status">
        {fault === undefined ? (
          state === 'open' && (
            // Screen readers have said so with the field.
            <span class="soft" aria-hidden="true">
              <kbd>Tab</kbd> indents, <kbd>Esc</kbd> <kbd>Tab</kbd> leaves, <kbd>Ctrl F</kbd> finds
            </span>
          )
        ) : (
          <button class="link bad-text" onClick={() => goTo(fault.offset)}>
            {fault.sentence}
          </button>
        )}
      </p>
    </div>
  )
}
