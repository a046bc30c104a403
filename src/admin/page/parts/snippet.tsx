import { Copy } from './copy'

/** An example that can be copied. */
export function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <figure class="snippet">
      <figcaption>
        {label}
        <Copy text={text} label={`Copy: ${label}`} />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}
