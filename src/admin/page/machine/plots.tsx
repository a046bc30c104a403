import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { sizeText } from '../value/typed'
import { Plot } from './plot'
import { axisOf, titleOf, type Value } from './plot-line'

interface Figures {
  readonly at: number
  readonly requests: number
  readonly failures: number
  readonly median: Value
  readonly p95: Value
  readonly commits: Value
  readonly wait: Value
  readonly sockets: number
  readonly memory: number
  readonly free: Value
}

interface PlotInfo {
  readonly title: string
  readonly lines: readonly (readonly [name: string, of: keyof Figures])[]
  readonly textOf: (value: number) => string
  readonly least: number
}

const PLOTS: readonly PlotInfo[] = [
  {
    title: 'Requests in a second',
    lines: [
      ['answered', 'requests'],
      ['failed', 'failures'],
    ],
    textOf: rateText,
    least: 1,
  },
  {
    title: 'Time to the answer',
    lines: [
      ['half', 'median'],
      ['95 %', 'p95'],
    ],
    textOf: timeText,
    least: 10,
  },
  { title: 'Commits in a second', lines: [['commits', 'commits']], textOf: rateText, least: 1 },
  { title: 'Writes wait for their turn', lines: [['wait', 'wait']], textOf: timeText, least: 1 },
  { title: 'Live connections', lines: [['sockets', 'sockets']], textOf: countText, least: 5 },
  { title: 'Memory', lines: [['memory', 'memory']], textOf: sizeText, least: 100e6 },
  { title: 'Free on the disk', lines: [['free', 'free']], textOf: sizeText, least: 1e9 },
]

const EVERY_MS = 10_000
/** A row of the table for so many figures: one a minute. */
const EACH_ROW = 6

/** The last hour of the server, or what there is of it. */
export function Plots() {
  const { value, error, reload } = useOperation<{ readonly figures: readonly Figures[] }>(
    'server.figures',
    {},
    { every: EVERY_MS },
  )
  const [chosen, setChosen] = useState<number | null>(null)
  const figures = value?.figures ?? []
  const times = figures.map(({ at }) => at)
  const axis = axisOf(times)
  const shown = figures[chosen ?? -1]
  return (
    <section class="part plots">
      <header class="plots-head">
        <h2>{value === undefined ? 'The last hour' : titleOf(axis)}</h2>
        <span class="soft small number">
          {shown === undefined ? 'now' : new Date(shown.at).toLocaleTimeString()}
        </span>
      </header>
      <Failure error={error} onAgain={reload} />
      <div class="plot-grid-of" aria-busy={value === undefined}>
        {PLOTS.map(({ title, lines, textOf, least }) => (
          <Plot
            key={title}
            title={title}
            lines={lines.map(([name, of]) => ({ name, values: figures.map((each) => each[of]) }))}
            times={times}
            axis={axis}
            textOf={textOf}
            least={least}
            chosen={chosen !== null && chosen < times.length ? chosen : null}
            onChoose={setChosen}
          />
        ))}
      </div>
      <p class="soft small">
        {value !== undefined && figures.length === 0
          ? 'The server measures every ten seconds: the first figures come soon.'
          : 'Every ten seconds, without the requests of this page. Forgotten when the server stops.'}
      </p>
      <details>
        <summary>As a table</summary>
        <FigureTable
          figures={figures.filter((_, at) => (figures.length - 1 - at) % EACH_ROW === 0)}
        />
      </details>
    </section>
  )
}

function FigureTable({ figures }: { figures: readonly Figures[] }) {
  return (
    <div class="plots-table" role="region" aria-label="The figures of each minute" tabIndex={0}>
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {PLOTS.flatMap(({ title, lines }) =>
              lines.map(([name]) => (
                <th key={title + name} scope="col">
                  {title}
                  {lines.length > 1 && `, ${name}`}
                </th>
              )),
            )}
          </tr>
        </thead>
        <tbody>
          {figures.toReversed().map((each) => (
            <tr key={each.at}>
              <th scope="row">{new Date(each.at).toLocaleTimeString()}</th>
              {PLOTS.flatMap(({ title, lines, textOf }) =>
                lines.map(([name, of]) => {
                  const value = each[of]
                  return (
                    <td key={title + name} class="number">
                      {value === null ? '–' : textOf(value)}
                    </td>
                  )
                }),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function rateText(value: number): string {
  return value.toLocaleString(undefined, { maximumFractionDigits: 1 })
}

function countText(value: number): string {
  return value.toLocaleString(undefined, { maximumFractionDigits: 0 })
}

/** Of milliseconds: `0.42 ms`, `1.2 s`. */
function timeText(value: number): string {
  if (value >= 1_000) return `${(value / 1_000).toLocaleString(undefined, DIGITS)} s`
  return `${value.toLocaleString(undefined, DIGITS)} ms`
}

const DIGITS = { maximumSignificantDigits: 2 } as const
