import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** A button that opens a small list below it. */
export function Menu({
  label,
  button,
  children,
}: {
  label: string
  button: ComponentChildren
  children: ComponentChildren
}) {
  const [isOpen, setIsOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  // Before the next key: an effect after a paint would take one that is struck at once from the panel.
  useLayoutEffect(() => {
    if (!isOpen) return undefined
    const leave = ({ target }: Event) => {
      if (!(target instanceof Node && box.current?.contains(target) === true)) setIsOpen(false)
    }
    const escape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      // The panel beside it stays.
      event.preventDefault()
      setIsOpen(false)
      box.current?.querySelector('button')?.focus()
    }
    document.addEventListener('pointerdown', leave)
    // Before the keys of the page.
    document.addEventListener('keydown', escape, { capture: true })
    return () => {
      document.removeEventListener('pointerdown', leave)
      document.removeEventListener('keydown', escape, { capture: true })
    }
  }, [isOpen])
  return (
    <div class="menu" ref={box}>
      <button title={label} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span class="hidden">{label}</span>
        {button}
      </button>
      {isOpen && (
        <div class="menu-list" role="group" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  )
}
