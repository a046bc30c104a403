import type { ComponentChildren } from 'preact'
import { askToDestroy, type Destruction } from '../shell/destroy'
import { Icon } from './icon'
import { shortText } from './text'

/** A button that asks before it destroys something; without children it is an icon that `label` names. */
export function DestroyButton({
  label,
  tip = 'Remove',
  kind = 'plain',
  children = <Icon name="trash" />,
  ...destruction
}: Destruction & {
  label?: string
  tip?: string
  kind?: 'plain' | 'danger' | 'small-button'
  children?: ComponentChildren
}) {
  const name = label === undefined ? {} : { title: tip, 'aria-label': shortText(label) }
  return (
    <button class={kind} {...name} onClick={() => askToDestroy(destruction)}>
      {children}
    </button>
  )
}
