import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon'

/** A dialog over the page, which has the keyboard until it is closed. */
export function Dialog({
  title,
  onClose,
  isBare = false,
  isLasting = false,
  isWide = false,
  children,
}: {
  title: string
  onClose?: () => void
  /** Without a visible title. */
  isBare?: boolean
  /** It cannot be closed. */
  isLasting?: boolean
  isWide?: boolean
  children: ComponentChildren
}) {
  const element = useRef<HTMLDialogElement>(null)
  const pressed = useRef<EventTarget | null>(null)
  // Before the next key: an effect after a paint would leave the first letters to the page.
  useLayoutEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    const first = dialog?.querySelector<HTMLElement>('[autofocus]')
    first?.focus()
    // A long text is read from its beginning.
    if (first instanceof HTMLTextAreaElement) {
      first.setSelectionRange(0, 0)
      first.scrollTop = 0
    }
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  // Also where no element of the dialog has the focus: the second Escape would close it, the third one what is below.
  useLayoutEffect(() => {
    if (!isLasting) return undefined
    const keep = (event: KeyboardEvent) => event.key === 'Escape' && event.preventDefault()
    document.addEventListener('keydown', keep)
    return () => document.removeEventListener('keydown', keep)
  }, [isLasting])
  const cancel = (event: Event) => {
    event.preventDefault()
    if (!isLasting) onClose?.()
  }
  // A browser closes a dialog at the second request in a row, whatever a page says to the first.
  const closed = () => {
    if (element.current === null) return
    if (isLasting) element.current.showModal()
    else onClose?.()
  }
  return (
    <dialog
      ref={element}
      class={`${isBare ? 'bare' : ''} ${isWide ? 'wide' : ''}`}
      aria-label={title}
      onCancel={cancel}
      onClose={closed}
      onPointerDown={({ target }) => (pressed.current = target)}
      // A drag from a field to the outside is no press on it.
      onClick={(event) => {
        if (event.target === element.current && pressed.current === event.target) cancel(event)
      }}
    >
      {isBare ? (
        children
      ) : (
        <div class="dialog">
          <header>
            <h2>{title}</h2>
            {!isLasting && (
              <button class="plain" aria-label="Close" onClick={() => onClose?.()}>
                <Icon name="close" />
              </button>
            )}
          </header>
          {children}
        </div>
      )}
    </dialog>
  )
}
