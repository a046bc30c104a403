import { Histogram } from '../domain/value/histogram'
import type { AccessEntry } from '../log/log'
import type { Family } from './exposition'

/** Counts the requests that were answered. */
export interface Traffic {
  /** Called for every request: it costs a search in its path, and makes nothing that stays. */
  count(entry: AccessEntry): void
  families(): readonly Family[]
}

const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'other']
const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

class Route {
  readonly durations = new Histogram(SECONDS)
  /** By method and class of the status. */
  readonly counts = Array.from({ length: METHODS.length * CLASSES.length }, () => 0)

  constructor(readonly name: string) {}
}

/** The paths below a database that have names of their own; the names of tables and databases are no labels. */
const NAMED = [
  'sync',
  'changes',
  'token',
  'blob',
  'export',
  'import',
  'invitation',
  'oauth',
  'auth-providers',
  'clients',
  'users',
  'templates',
]
const VIEWS = ['my', 'all', 'public']
const ROOTS = ['/', '/health', '/ready', '/docs', '/openapi', '/service']

export function createTraffic(): Traffic {
  const other = new Route('other')
  const roots = routesBy(ROOTS, (path) => path)
  const named = routesBy(NAMED, (word) => `/:database/${word}`)
  const tables = routesBy(VIEWS, (view) => `/:database/${view}/:table`)
  const objects = routesBy(VIEWS, (view) => `/:database/${view}/:table/:key`)
  const refusals = new Map<string, number>()

  function routeOf(path: string): Route {
    const second = path.indexOf('/', 1)
    const root = roots.get(second === -1 ? path : path.slice(0, second))
    if (root !== undefined) return root
    if (second === -1) return other
    const third = path.indexOf('/', second + 1)
    const word = path.slice(second + 1, third === -1 ? undefined : third)
    const isOfKey = third !== -1 && path.includes('/', third + 1)
    return (isOfKey ? objects : tables).get(word) ?? named.get(word) ?? other
  }

  return {
    count({ method, path, status, duration, code }) {
      const route = routeOf(path)
      route.durations.observe(duration / 1000)
      const known = METHODS.indexOf(method)
      const row = known === -1 ? METHODS.length - 1 : known
      const index = row * CLASSES.length + Math.floor(status / 100) - 1
      route.counts[index] = (route.counts[index] ?? 0) + 1
      if (code !== undefined) refusals.set(code, (refusals.get(code) ?? 0) + 1)
    },
    families() {
      const routes = [roots, named, tables, objects].flatMap((each) => [...each.values()])
      const seen = [...routes, other].filter(({ counts }) => counts.some((count) => count > 0))
      return [
        {
          name: 'satchel_http_requests',
          type: 'counter',
          help: 'Requests by route, method and class of the status.',
          samples: seen.flatMap(({ name: route, counts }) =>
            counts.flatMap((value, index) => {
              const method = METHODS[Math.floor(index / CLASSES.length)] ?? ''
              const status = CLASSES[index % CLASSES.length] ?? ''
              return value === 0 ? [] : [{ labels: { route, method, status }, value }]
            }),
          ),
        },
        {
          name: 'satchel_http_request_duration_seconds',
          type: 'histogram',
          help: 'Time from the first byte of a request to its answer, or to the end of a stream.',
          samples: seen.map(({ name: route, durations: value }) => ({ labels: { route }, value })),
        },
        {
          name: 'satchel_http_refusals',
          type: 'counter',
          help: 'Requests that were refused, by the code of the error.',
          samples: [...refusals].map(([code, value]) => ({ labels: { code }, value })),
        },
      ]
    },
  }
}

function routesBy(words: readonly string[], nameOf: (word: string) => string): Map<string, Route> {
  return new Map(words.map((word) => [word, new Route(nameOf(word))]))
}
