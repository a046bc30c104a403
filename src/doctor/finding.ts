import { DAY, HOUR, MINUTE } from '../domain/value/time'
import type { Facts } from './facts'

/** Something that is wrong. */
export interface Finding {
  readonly level: 'warning' | 'error'
  /** A sentence about it. */
  readonly problem: string
  /** The command, or the line of a settings file, that mends it. */
  readonly mend: string
}

/** A check with the part of the system that it looks at. */
export interface Check {
  readonly looksAt: string
  /** Null when nothing is wrong. */
  find(facts: Facts): Finding | null
}

export const MIB = 1024 ** 2

export function error(problem: string, mend: string): Finding {
  return { level: 'error', problem, mend }
}

export function warning(problem: string, mend: string): Finding {
  return { level: 'warning', problem, mend }
}

/** `3 days`, `1 hour`. */
export function span(ms: number): string {
  const [count, unit] =
    ms >= DAY ? [ms / DAY, 'day'] : ms >= HOUR ? [ms / HOUR, 'hour'] : [ms / MINUTE, 'minute']
  const whole = Math.floor(count)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}

/** A word of a shell command. */
export function quote(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
