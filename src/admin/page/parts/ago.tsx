import { signal } from '@preact/signals'
import { relative } from './relative-time'

const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

/** A time as its distance from now, with the exact one on hover. `at` in ms, or ISO text. */
export function Ago({ at }: { at: number | string | null | undefined }) {
  const time = typeof at === 'string' ? Date.parse(at) : at
  if (time === null || time === undefined || !(Math.abs(time) <= LATEST))
    return <span class="soft">never</span>
  const date = new Date(time)
  return (
    <time class="ago" dateTime={date.toISOString()} title={exactTime(date)}>
      {relative(time - now.value)}
    </time>
  )
}

/** The last time that a date can have. */
const LATEST = 8.64e15

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

export function exactTime(date: Date): string {
  return `${EXACT.format(date)}\n${date.toISOString()}`
}
