import type { Header, Reference, Responses } from './specification'

/** Those that several answers have, by their names. */
export const HEADERS: Readonly<Record<string, Header>> = {
  'Ratelimit-Limit': {
    description:
      'How many the limit allows that this request counted against. Absent while nothing is limited.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Ratelimit-Remaining': {
    description: 'How many of them are left.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Ratelimit-Reset': {
    description: 'Seconds until all of them are there again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed, when that is known.',
    schema: { type: 'integer', minimum: 1 },
  },
}

const QUOTA = ['Ratelimit-Limit', 'Ratelimit-Remaining', 'Ratelimit-Reset']

export function headerRefs(names: readonly string[]): Readonly<Record<string, Reference>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The answers of a route: refusals for what is one too many tell what is left, and all where requests are counted. */
export function withQuota(responses: Responses, isCounted: boolean): Responses {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const headers = { ...response.headers, ...headerRefs(QUOTA) }
      const tells = status === '429' || (isCounted && /^[23]/.test(status))
      return [status, tells ? { ...response, headers } : response]
    }),
  )
}
