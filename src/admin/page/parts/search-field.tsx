import { useRef } from 'preact/hooks'
import { useShortcut } from '../shell/keys'
import { Icon } from './icon'

/** A field that filters what is shown; the key / goes there. */
export function SearchField({
  label,
  value,
  onInput,
  onEnter,
}: {
  label: string
  value: string
  onInput: (text: string) => void
  onEnter?: () => void
}) {
  const input = useRef<HTMLInputElement>(null)
  useShortcut('/', label, () => input.current?.focus())
  return (
    <label class="search-field">
      <Icon name="search" />
      <span class="hidden">{label}</span>
      <input
        ref={input}
        type="search"
        placeholder={label}
        value={value}
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape') currentTarget.blur()
          if (key === 'Enter') onEnter?.()
        }}
      />
    </label>
  )
}
