import type { ErrorCode } from '../domain/value/error'

/** Options of curl in examples. */
export const BEARER = '-H "Authorization: Bearer $TOKEN"'
export const JSON_TYPE = "-H 'Content-Type: application/json'"

/** JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. */
export type Schema = boolean | { readonly [keyword: string]: unknown }

export interface Reference {
  readonly $ref: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly style?: 'form'
  readonly explode?: boolean
  readonly schema: Schema
  readonly example?: unknown
}

export interface Example {
  readonly summary: string
  readonly value: unknown
}

export interface MediaType {
  readonly schema: Schema
  readonly examples?: Readonly<Record<string, Example>>
}

export interface Header {
  readonly description: string
  readonly schema: Schema
  readonly example?: string
}

export type Content = Readonly<Record<string, MediaType>>

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header | Reference>>
  readonly content?: Content
}

export type Responses = Readonly<Record<string, Response>>

/** The groups of operations in the document. */
export type Tag =
  | 'tokens'
  | 'login'
  | 'all'
  | 'my'
  | 'public'
  | 'tables'
  | 'blobs'
  | 'invitations'
  | 'sync'
  | 'users'
  | 'management'
  | 'service'

/** How a route reports an error code. */
export interface Refusal {
  readonly status: number
  /** The name of the schema of its body. */
  readonly schema: string
  readonly body: Readonly<Record<string, unknown>>
}

export type RefusalFormat = (code: ErrorCode, message: string) => Refusal

/** The documentation of one route, without its path and method. */
export interface Operation {
  readonly tag: Tag
  readonly summary: string
  /** Markdown. A paragraph is one line: the page keeps line breaks. */
  readonly description: string
  /** A command that works in a shell where the variables of the introduction are set. */
  readonly curl?: string
  /** The parameters in the query and the headers. */
  readonly parameters?: readonly Parameter[]
  readonly body?: Content
  readonly responses: Responses
  /** The error codes of this route, besides those of every route and of its door. */
  readonly refusals?: readonly ErrorCode[]
  /** How it reports them; absent: as the default error body. */
  readonly format?: RefusalFormat
  /** Refusals may also come as plain text, except with status 403. */
  readonly alsoAsText?: true
  /** Descriptions of path parameters that differ from the common ones: their names in the document. */
  readonly pathParameters?: Readonly<Record<string, string>>
  /** Refusals come as a page, except to clients that accept only JSON. */
  readonly alsoAsPage?: true
}

/** The operations by the `operationId` that their routes name. */
export type Operations = Readonly<Record<string, Operation>>

/** A copy of the record with every value changed. */
export function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T) => U,
): Record<string, U> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, change(value)] as const),
  )
}

/** An optional parameter of the query with a text, or with a value of another schema. */
export const inQuery = optionalIn('query')

/** An optional header with a text, or with a value of another schema. */
export const inHeader = optionalIn('header')

function optionalIn(place: 'query' | 'header') {
  return (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
    name,
    in: place,
    description,
    schema,
  })
}

export function schemaRef(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` }
}

/** The keywords of an object with these properties; a name with a question mark behind it is optional. */
export function object(properties: Readonly<Record<string, Schema | Reference>>) {
  const names = Object.keys(properties)
  const required = names.filter((name) => !name.endsWith('?'))
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(
      names.map((name) => [name.replace(/\?$/, ''), properties[name]] as const),
    ),
  }
}

/** `object` for one without other properties. */
export function closed(properties: Parameters<typeof object>[0]) {
  return { ...object(properties), additionalProperties: false }
}

/** An answer for a browser. */
export const PAGE = {
  description: 'The page.',
  content: { 'text/html': { schema: { type: 'string' } } },
} satisfies Response

export function text(description: string): Schema {
  return { type: 'string', description }
}

/** An answer in JSON with one example, of which `summary` is the title. */
export function answer(
  description: string,
  schema: Schema,
  summary: string,
  value: unknown,
): Response {
  return { description, content: json(schema, summary, value) }
}

/** An answer or a body in JSON, with one example. */
export function json(schema: Schema, summary: string, value: unknown): Content {
  return { 'application/json': { schema, examples: { example: { summary, value } } } }
}
