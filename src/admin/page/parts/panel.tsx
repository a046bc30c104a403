import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useShortcut } from '../shell/keys'
import { Icon } from './icon'
import { shortText, Text } from './text'

/** A part beside a list that shows one of its rows; over the page on narrow screens. */
export function Panel({
  title,
  actions,
  onClose,
  children,
}: {
  title: string
  actions?: ComponentChildren
  onClose: () => void
  children: ComponentChildren
}) {
  const box = useRef<HTMLElement>(null)
  useShortcut('Escape', 'Close the panel', onClose)
  useEffect(() => {
    const before = document.activeElement
    // On narrow screens the panel covers what had the focus.
    if (matchMedia('(max-width: 60rem)').matches) box.current?.focus()
    return () => {
      const isLost = document.activeElement === document.body
      if (isLost && before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <aside class="panel" aria-label={shortText(title)} tabIndex={-1} ref={box}>
      <header>
        <h2 class="clip" title={shortText(title)}>
          <Text text={title} />
        </h2>
        {actions}
        <button class="plain" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-body">{children}</div>
    </aside>
  )
}
