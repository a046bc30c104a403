import { signal } from '@preact/signals'
import { sentenceOf } from '../server/refusal'
import { Icon } from '../parts/icon'
import { visible } from '../parts/visible'

interface Toast {
  readonly id: number
  readonly kind: 'good' | 'bad'
  readonly text: string
  readonly action: Action | undefined
}

/** Something that a toast offers to do. */
interface Action {
  readonly label: string
  readonly run: () => void
}

const STAYS_MS = 6_000
const toasts = signal<readonly Toast[]>([])
let count = 0

/** Tells that something was done; `action` may take it back. */
export function tellDone(text: string, action?: Action): void {
  add('good', text, action)
}

/** Tells why something was not done. */
export function tellError(error: unknown): void {
  add('bad', sentenceOf(error))
}

function add(kind: Toast['kind'], text: string, action?: Action): void {
  count += 1
  const id = count
  toasts.value = [...toasts.value.slice(-3), { id, kind, text, action }]
  const isShort = kind === 'good' && action === undefined
  setTimeout(() => remove(id), isShort ? STAYS_MS : 2 * STAYS_MS)
}

function remove(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, action }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'good' ? 'check' : 'alert'} />
          <span dir="auto">{visible(text)}</span>
          {action !== undefined && (
            <button
              class="small-button"
              onClick={() => {
                remove(id)
                action.run()
              }}
            >
              {action.label}
            </button>
          )}
          <button class="plain" aria-label="Close" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
