import { useEffect, useState } from 'preact/hooks'
import { SearchField } from './search-field'

const PAUSE_MS = 300

/** A field for a text that the server is asked for: after a pause in typing, and at once by Enter. */
export function PausedSearch({
  label,
  text: asked,
  onSearch,
}: {
  label: string
  text: string
  onSearch: (text: string) => void
}) {
  const [text, setText] = usePaused(asked, onSearch)
  return <SearchField label={label} value={text} onInput={setText} onEnter={() => onSearch(text)} />
}

/** A text while it is typed; `ask` is called with it after a pause. */
export function usePaused(asked: string, ask: (text: string) => void) {
  const [text, setText] = useState(asked)
  useEffect(() => {
    if (text === asked) return undefined
    const timer = setTimeout(() => ask(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, asked])
  return [text, setText] as const
}
