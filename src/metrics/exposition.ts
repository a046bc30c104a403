import type { Histogram } from '../domain/value/histogram'

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly labels?: Labels
  readonly value: number | Histogram
}

/** One metric with its samples: numbers, or histograms for the type of that name. */
export interface Family {
  /** Without the `_total` of a counter. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** The formats of a scrape, by their content types. */
export const FORMATS = {
  openMetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
} as const

export type Format = keyof typeof FORMATS

/** The text of a scrape. Families without samples are left out. */
export function exposition(families: readonly Family[], format: Format): string {
  const lines = families.flatMap((family) =>
    family.samples.length === 0 ? [] : linesOf(family, format),
  )
  return `${[...lines, ...(format === 'openMetrics' ? ['# EOF'] : [])].join('\n')}\n`
}

function linesOf({ name, type, help, samples }: Family, format: Format): string[] {
  const total = type === 'counter' ? `${name}_total` : name
  // OpenMetrics describes a counter without its suffix, the older text with it.
  const described = format === 'openMetrics' ? name : total
  return [
    `# HELP ${described} ${help}`,
    `# TYPE ${described} ${type}`,
    ...samples.flatMap(({ labels = {}, value }) =>
      typeof value === 'number'
        ? [`${total}${labelled(labels)} ${numeral(value)}`]
        : bucketsOf(name, labels, value),
    ),
  ]
}

function bucketsOf(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string[] {
  let below = 0
  const buckets = counts.map((count, index) => {
    below += count
    const le = numeral(bounds[index] ?? Infinity)
    return `${name}_bucket${labelled({ ...labels, le })} ${below}`
  })
  return [
    ...buckets,
    `${name}_sum${labelled(labels)} ${numeral(sum)}`,
    `${name}_count${labelled(labels)} ${below}`,
  ]
}

function labelled(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numeral(value: number): string {
  return value === Infinity ? '+Inf' : String(value)
}
