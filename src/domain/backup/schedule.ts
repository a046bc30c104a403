/** A time of day in the time zone of the machine. */
export interface TimeOfDay {
  readonly hours: number
  readonly minutes: number
}

/** Reads `02:30`; undefined for another text. */
export function parseTimeOfDay(text: string): TimeOfDay | undefined {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  return hours === undefined ? undefined : { hours: Number(hours), minutes: Number(minutes) }
}

/** The next moment with this time of day after `now`, ms. */
export function nextTime(now: number, time: TimeOfDay): number {
  const today = at(now, 0, time)
  return today > now ? today : at(now, 1, time)
}

/** The latest moment with this time of day up to `now`, ms. */
export function lastTime(now: number, time: TimeOfDay): number {
  const today = at(now, 0, time)
  return today <= now ? today : at(now, -1, time)
}

function at(now: number, days: number, { hours, minutes }: TimeOfDay): number {
  const date = new Date(now)
  date.setDate(date.getDate() + days)
  return date.setHours(hours, minutes, 0, 0)
}
