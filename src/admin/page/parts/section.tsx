import type { ComponentChildren } from 'preact'
import { Icon } from './icon'

/** A part of a page or panel, with a button that adds to it where `onAdd` is given. */
export function Section({
  title,
  level = 2,
  isBox = false,
  add = 'Add',
  onAdd,
  children,
}: {
  title: string
  level?: 2 | 3
  isBox?: boolean
  add?: string
  onAdd?: (() => void) | false | undefined
  children: ComponentChildren
}) {
  return (
    <section class={isBox ? 'part box' : 'part'}>
      <header>
        {level === 2 ? <h2>{title}</h2> : <h3>{title}</h3>}
        {onAdd && (
          <button class="small-button" onClick={onAdd}>
            <Icon name="plus" />
            {add}
          </button>
        )}
      </header>
      {children}
    </section>
  )
}
