import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon'

/** A page or part that has nothing to show yet, and says how that changes. */
export function Empty({
  icon,
  title,
  children,
}: {
  icon: IconName
  title: string
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <span class="empty-sign">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      <div class="soft">{children}</div>
    </div>
  )
}
