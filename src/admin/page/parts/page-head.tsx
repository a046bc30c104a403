import type { ComponentChildren } from 'preact'
import { Text } from './text'

/** The title of a page with its actions. */
export function PageHead({
  title,
  about,
  children,
}: {
  title: string
  about?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <header class="page-head">
      <div class="page-title">
        <h1>
          <Text text={title} />
        </h1>
        <p class="soft">{about}</p>
      </div>
      <div class="page-actions">{children}</div>
    </header>
  )
}
