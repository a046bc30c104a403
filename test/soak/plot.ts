import { type Day, QUANTITIES, type Verdict } from './judge'

const WIDTH = 640
const HEIGHT = 110
const LEFT = 70
const TOP = 24

/** A panel for each quantity: its days as points, and the line that was judged. */
export function plotOf(days: readonly Day[], verdicts: readonly Verdict[]): string {
  const panels = QUANTITIES.map(({ name, unit, of }, row) => {
    const points = days.map((day) => ({ x: day.day, y: of(day) }))
    const verdict = verdicts.find((one) => one.name === name)
    return panelOf(
      `${name}${unit === '' ? '' : `, ${unit}`}`,
      points,
      verdict,
      row * (HEIGHT + TOP),
    )
  })
  const height = QUANTITIES.length * (HEIGHT + TOP)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="white"/>
${panels.join('\n')}
</svg>
`
}

interface Point {
  readonly x: number
  readonly y: number
}

function panelOf(
  title: string,
  points: readonly Point[],
  verdict: Verdict | undefined,
  top: number,
): string {
  const most = Math.max(...points.map(({ y }) => y)) * 1.1 || 1
  const last = points.at(-1)?.x ?? 1
  const x = (day: number) => (LEFT + ((WIDTH - LEFT - 10) * day) / last).toFixed(1)
  const y = (value: number) => (top + TOP + HEIGHT - 20 - ((HEIGHT - 20) * value) / most).toFixed(1)
  const dots = points.map((point) => `<circle cx="${x(point.x)}" cy="${y(point.y)}" r="2"/>`)
  const label = (value: number) =>
    `<text x="${LEFT - 6}" y="${y(value)}" text-anchor="end">${value.toPrecision(3)}</text>`
  const axis = `<path d="M${LEFT} ${y(most)}V${y(0)}H${WIDTH - 10}" fill="none" stroke="gray"/>`
  const heading = `<text x="${LEFT}" y="${top + 16}" font-weight="bold">${title}</text>`
  return [heading, axis, label(most), label(0), ...dots, lineOf(verdict, x, y)].join('\n')
}

/** The line through the judged days. */
function lineOf(
  verdict: Verdict | undefined,
  x: (day: number) => string,
  y: (value: number) => string,
): string {
  if (verdict === undefined) return ''
  const { from, to, mean, growth, isFlat } = verdict
  const ends = `M${x(from)} ${y(mean - growth / 2)}L${x(to)} ${y(mean + growth / 2)}`
  return `<path d="${ends}" stroke="${isFlat ? 'green' : 'red'}" stroke-width="2"/>`
}
