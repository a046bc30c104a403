import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** A key of the page that is on the screen. */
export interface Shortcut {
  /** One key as `KeyboardEvent.key`, or two that are struck one after the other: `g l`. */
  readonly keys: string
  readonly text: string
  readonly run: { current: () => void }
}

/** All keys that work now, in the order in which they were added. */
export const shortcuts = signal<readonly Shortcut[]>([])

/** Listens to a key as long as the component is on the screen. Fields and dialogs keep their keys. */
export function useShortcut(keys: string, text: string, run: () => void, isOn = true): void {
  const latest = useRef(run)
  latest.current = run
  // Before the next key: an effect after a paint would lose one that is struck at once.
  useLayoutEffect(() => {
    if (!isOn) return undefined
    const shortcut = { keys, text, run: latest }
    shortcuts.value = [...shortcuts.peek(), shortcut]
    return () => {
      shortcuts.value = shortcuts.peek().filter((each) => each !== shortcut)
    }
  }, [keys, text, isOn])
}

const SEQUENCE_MS = 1_200
let first = ''
let firstAt = 0

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
  // Of a field in a shadow root, its host is the target.
  const [target] = event.composedPath()
  if (takesText(target) || isPressedBy(event.key, target)) return
  if (document.querySelector('dialog[open]') !== null) return
  const isSecond = first !== '' && event.timeStamp - firstAt < SEQUENCE_MS
  const struck = isSecond ? `${first} ${event.key}` : event.key
  first = ''
  const found = shortcuts.peek().findLast(({ keys }) => keys === struck)
  if (found !== undefined) {
    event.preventDefault()
    found.run.current()
  } else if (!isSecond && shortcuts.peek().some(({ keys }) => keys.startsWith(`${event.key} `))) {
    first = event.key
    firstAt = event.timeStamp
  }
})

/** True for the key that presses the button, or toggles the box, that has the focus. */
function isPressedBy(key: string, target: EventTarget | undefined): boolean {
  return key === ' ' && target instanceof Element && target.matches('button, summary, input')
}

function takesText(target: EventTarget | undefined): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
  )
}
