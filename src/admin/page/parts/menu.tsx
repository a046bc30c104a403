import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

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
  useEffect(() => {
    if (!isOpen) return undefined
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target) === true
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !isInside) setIsOpen(false)
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('keydown', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('keydown', close)
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
