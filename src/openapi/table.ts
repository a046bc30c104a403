import type { DoorName } from '../domain/access/door'
import type { ErrorCode } from '../domain/value/error'
import { BODY_REFUSALS, STORE_REFUSALS } from './refusals'
import {
  BEARER,
  type Content,
  JSON_TYPE,
  type Operation,
  type Operations,
  type Parameter,
  type Schema,
  type Tag,
} from './specification'

/** An operation of the table with an address of its own, as far as the document needs to know it. */
export interface TableOperation {
  /** Also the name of its door. */
  readonly operationId: DoorName
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below that of the database: `/users/:user`. */
  readonly path: string
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  readonly effect: 'read' | 'write' | 'secret' | 'destroy'
  /** The parameters of the query of a GET, by name; a description and an example are in the schema. */
  readonly parameters: {
    readonly required: readonly string[]
    readonly properties: Readonly<Record<string, Keywords>>
  }
  readonly bodySchema: Schema
  /** Examples of the body by their titles. */
  readonly examples?: Readonly<Record<string, unknown>>
  /** For the example: the body of a POST, or an address with parameters. */
  readonly curl?: string
  readonly answer: {
    readonly description: string
    readonly schema?: Schema
    /** A title and a value. */
    readonly example?: readonly [string, unknown]
  }
  readonly refusals?: readonly ErrorCode[]
}

interface Keywords {
  readonly [keyword: string]: unknown
}

/** The descriptions of operations, by their names. */
export function describeTable(operations: readonly TableOperation[]): Operations {
  return Object.fromEntries(operations.map((each) => [each.operationId, describe(each)]))
}

function describe(operation: TableOperation): Operation {
  const {
    method,
    tag,
    summary,
    description,
    effect,
    examples = {},
    answer,
    refusals = [],
  } = operation
  const hasBody = method === 'POST'
  const curl = curlOf(operation)
  return {
    tag,
    summary,
    description,
    ...(curl === undefined ? {} : { curl }),
    ...(method === 'GET' ? { parameters: parametersOf(operation) } : {}),
    ...(hasBody ? { body: jsonOf(operation.bodySchema, examples) } : {}),
    responses: { [answer.schema === undefined ? '204' : '200']: answerOf(answer) },
    refusals: [
      ...refusals,
      ...(hasBody ? BODY_REFUSALS : []),
      ...(effect === 'read' ? [] : STORE_REFUSALS),
    ],
  }
}

function curlOf({ method, path, curl }: TableOperation): string | undefined {
  if (method === 'GET') return `curl "$DB${curl ?? path}" ${BEARER}`
  if (curl === undefined) return undefined
  if (method === 'DELETE') return `curl -X DELETE "$DB${curl}" ${BEARER}`
  return `curl "$DB${path}" ${BEARER} \\\n  ${JSON_TYPE} -d '${curl}'`
}

function parametersOf({ parameters }: TableOperation): Parameter[] {
  return Object.entries(parameters.properties).map(
    ([name, { description, examples, ...schema }]) => ({
      name,
      in: 'query',
      ...(parameters.required.includes(name) ? { required: true } : {}),
      description: String(description),
      schema,
      ...(Array.isArray(examples) ? { example: examples[0] as unknown } : {}),
    }),
  )
}

function answerOf({ description, schema, example }: TableOperation['answer']) {
  if (schema === undefined) return { description }
  return { description, content: jsonOf(schema, example && { [example[0]]: example[1] }) }
}

/** JSON with examples, whose titles become names. */
function jsonOf(schema: Schema, examples: Readonly<Record<string, unknown>> = {}): Content {
  const named = Object.entries(examples).map(([summary, value], index) => [
    index === 0 ? 'example' : `example${index + 1}`,
    { summary, value },
  ])
  return { 'application/json': { schema, examples: Object.fromEntries(named) } }
}
