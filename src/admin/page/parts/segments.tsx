import { useEffect, useRef } from 'preact/hooks'

/** A row of buttons of which one is chosen. */
export function Segments<Name extends string>({
  label,
  choices,
  chosen,
  onChoose,
}: {
  label: string
  choices: readonly (readonly [name: Name, title: string])[]
  chosen: Name
  onChoose: (name: Name) => void
}) {
  const row = useRef<HTMLDivElement>(null)
  // On a narrow screen the row scrolls.
  useEffect(() => {
    const button = row.current?.querySelector('[aria-pressed=true]')
    button?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [chosen])
  return (
    <div class="segments" role="group" aria-label={label} ref={row}>
      {choices.map(([name, title]) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
