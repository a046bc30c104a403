import { type Answer, type Caller, callerOf } from './setup'

/** A proxy on this machine is trusted, so that a caller may come from anywhere. */
export const PROXY = '127.0.0.0/8'

interface Quota {
  readonly limit: number
  readonly remaining: number
  readonly reset: number
}

export function quotaOf({ headers }: Answer): Quota | undefined {
  const numbers = ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`))
  if (numbers.every((text) => text === null)) return undefined
  const [limit = Number.NaN, remaining = Number.NaN, reset = Number.NaN] = numbers.map(Number)
  return { limit, remaining, reset }
}

/** The statuses of so many calls, one after the other. */
export async function statuses(times: number, call: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = []
  for (let time = 0; time < times; time++) found.push((await call()).status)
  return found
}

export const of = (status: number, times: number) => Array.from({ length: times }, () => status)

/** An anonymous caller at this address. */
export function anyoneAt(base: string, address: string): Caller['send'] {
  return (method, path, options = {}) =>
    callerOf(base).send(method, path, {
      ...options,
      headers: { ...options.headers, 'x-forwarded-for': address },
    })
}
