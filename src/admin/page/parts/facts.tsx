import type { ComponentChildren } from 'preact'

/** Names with values. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
