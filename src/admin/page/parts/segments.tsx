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
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([name, title]) => (
        <button key={name} aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
    </div>
  )
}
