import { mapValues, type Schema } from './specification'

/** An address of test mode, below `/{database}/_test/` (docs/testing.md). */
export interface TestRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** `restore/:id`, with at most one parameter. */
  readonly path: string
  /** The operation `test.<name>` that answers it. */
  readonly operation: string
  readonly summary: string
  readonly description: string
  /** The JSON body, or the properties of the query. */
  readonly input: {
    readonly required: readonly string[]
    readonly properties: Readonly<Record<string, Schema>>
  }
  readonly answer: Schema
}

/** The addresses of test mode as an OpenAPI 3.1 document of their own (promises.md 43). */
export function describeTestRoutes(routes: readonly TestRoute[], version: string): object {
  const byPath = Object.groupBy(routes, ({ path }) => path.replace(':id', '{id}'))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Satchel test mode',
      version,
      description: 'Addresses that exist only with `satchel serve --memory --test`.',
    },
    paths: Object.fromEntries(
      Object.entries(byPath).map(([path, found = []]) => [
        `/{database}/_test/${path}`,
        Object.fromEntries(found.map((route) => [route.method.toLowerCase(), describe(route)])),
      ]),
    ),
    components: { securitySchemes: { test: { type: 'http', scheme: 'bearer' } } },
    security: [{ test: [] }],
  }
}

function describe({ method, path, operation, summary, description, ...route }: TestRoute): object {
  const { input, answer } = route
  const inQuery = method === 'GET'
  const names = path.includes(':id') ? ['database', 'id'] : ['database']
  return {
    operationId: operation,
    summary,
    description,
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(inQuery ? Object.entries(input.properties) : []).map(([name, schema]) => ({
        name,
        in: 'query',
        schema,
      })),
    ],
    ...(inQuery || Object.keys(input.properties).length === 0
      ? {}
      : {
          requestBody: {
            content: { 'application/json': { schema: { ...input, additionalProperties: false } } },
          },
        }),
    responses: {
      '200': { description: summary, content: { 'application/json': { schema: answer } } },
      ...mapValues(REFUSALS, (refusal) => ({ description: refusal })),
    },
  }
}

const REFUSALS = {
  '400': 'The input is wrong.',
  '401': 'The test token is missing or wrong.',
  '403': 'A page of another origin, or another machine, has called.',
  '404': 'There is no such database or snapshot.',
}
