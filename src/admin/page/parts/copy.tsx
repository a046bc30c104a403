import { useState } from 'preact/hooks'
import { copyText } from './clipboard'
import { Icon } from './icon'

const SHOWN_MS = 1_600

interface CopyProps {
  /** The text, or the way to make it. */
  readonly text: string | (() => Promise<string>)
  readonly label?: string
}

/** A button that copies a text. */
export function Copy({ text, label = 'Copy' }: CopyProps) {
  const [isDone, setIsDone] = useState(false)
  const copy = async () => {
    await copyText(typeof text === 'string' ? text : await text())
    setIsDone(true)
    setTimeout(() => setIsDone(false), SHOWN_MS)
  }
  return (
    <button
      type="button"
      class="plain copy"
      aria-label={isDone ? 'Copied' : label}
      title={label}
      onClick={() => void copy().catch(() => undefined)}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  )
}
