import { type Axis, HEIGHT, lineOf, nearest, placeOf, topOf, type Value, WIDTH } from './plot-line'

export interface Line {
  readonly name: string
  readonly values: readonly Value[]
}

interface PlotProps {
  readonly title: string
  readonly lines: readonly Line[]
  readonly times: readonly number[]
  readonly axis: Axis
  readonly textOf: (value: number) => string
  /** The least top of the scale. */
  readonly least: number
  /** The figures that a person points at, in all plots; null: the last ones. */
  readonly chosen: number | null
  readonly onChoose: (index: number | null) => void
}

/** Values by their times. A pointer shows the exact ones; they are in a table for those who cannot see it. */
export function Plot({ title, lines, times, axis, textOf, least, chosen, onChoose }: PlotProps) {
  const top = topOf(
    lines.flatMap(({ values }) => values),
    least,
  )
  const index = chosen ?? times.length - 1
  const at = times[index]
  const point = ({ currentTarget, clientX }: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    const found = nearest(times, (clientX - left) / width, axis)
    onChoose(found === -1 ? null : found)
  }
  const paths = lines.map(({ values }) => lineOf(times, values, axis, top))
  return (
    <figure class="plot">
      <figcaption>
        <span class="soft small">{title}</span>
        <span class="plot-values">
          {lines.map(({ name, values }, place) => {
            const value = values[index] ?? null
            return (
              <span key={name} class={`plot-value line-${place}`}>
                {lines.length > 1 && <span class="soft small">{name} </span>}
                <span class="number">{value === null ? '–' : textOf(value)}</span>
              </span>
            )
          })}
        </span>
      </figcaption>
      <div class="plot-field" aria-hidden="true">
        <span class="plot-top soft number">{times.length === 0 ? '' : textOf(top)}</span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => onChoose(null)}
        >
          {[0, 0.5, 1].map((part) => (
            <path key={part} class="plot-grid" d={`M0 ${HEIGHT * part}H${WIDTH}`} />
          ))}
          {paths.toReversed().map((path, place) => (
            <path key={place} class={`plot-line line-${paths.length - 1 - place}`} d={path} />
          ))}
          {chosen !== null && at !== undefined && (
            <path class="plot-mark" d={`M${placeOf(at, axis)} 0V${HEIGHT}`} />
          )}
        </svg>
      </div>
    </figure>
  )
}
