import { quoted, SatchelError } from '../domain/value/error'
import { getOwn, isRecord } from '../domain/value/value'

/** One property of an input. */
export interface Field<T> {
  /** The values that it accepts, as JSON Schema. */
  readonly schema: Schema
  /** Completes "it must be". */
  readonly expected: string
  /** The value, or undefined for one that the schema does not allow. */
  readonly parse: (value: unknown) => T | undefined
}

/** JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values that a set of fields reads. */
export type Values<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> }

type ValueOf<F> = F extends Field<infer T> ? T : never

/** An input as it is given: optional fields and flags may be absent, and flags are false then. */
export type Given<F extends Fields> = {
  readonly [Name in keyof F as MayMiss<F[Name]> extends true ? never : Name]: ValueOf<F[Name]>
} & {
  readonly [Name in keyof F as MayMiss<F[Name]> extends true ? Name : never]?:
    | ValueOf<F[Name]>
    | undefined
}

type MayMiss<F> = null extends ValueOf<F> ? true : ValueOf<F> extends boolean ? true : false

/** The error about a field with this name that is not as expected. */
export type Refuse = (name: string, expected: string) => SatchelError

const refuse: Refuse = (name, expected) =>
  new SatchelError('INVALID_REQUEST', `${name} must be ${expected}`)

/** The refusal over HTTP. */
export const unprocessable: Refuse = (name, expected) =>
  new SatchelError('UNPROCESSABLE', `${quoted(name)} must be ${expected}`, { reason: name })

/** A schema that the document of the interface names. */
export function schemaRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Throws `INVALID_REQUEST`, or another refusal, for a field that is missing or of another type. */
export function readFields<F extends Fields>(
  fields: F,
  input: unknown,
  refusal: Refuse = refuse,
): Values<F> {
  const given: Readonly<Record<string, unknown>> = isRecord(input) ? input : {}
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = field.parse(getOwn(given, name))
    if (value === undefined) throw refusal(name, field.expected)
    values[name] = value
  }
  return values as Values<F>
}

/** The JSON objects that `readFields` accepts. */
export function schemaOf(fields: Fields) {
  const entries = Object.entries(fields)
  const required = entries.filter(([, { parse }]) => parse(undefined) === undefined)
  return {
    type: 'object',
    required: required.map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
  }
}

export const text: Field<string> = {
  schema: { type: 'string' },
  expected: 'a string',
  parse: (value) => (typeof value === 'string' ? value : undefined),
}

/** A text that is not empty. */
export const filled: Field<string> = {
  schema: text.schema,
  expected: 'a non-empty string',
  parse: (value) => text.parse(value) || undefined,
}

/** Any JSON. */
export const json: Field<unknown> = {
  schema: {},
  expected: 'JSON',
  parse: (value = null) => value,
}

export const number: Field<number> = {
  schema: { type: 'number' },
  expected: 'a number',
  parse: (value) => (typeof value === 'number' ? value : undefined),
}

/** A whole number. */
export const whole: Field<number> = {
  schema: { type: 'integer' },
  expected: 'a whole number',
  parse: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
}

export const flag: Field<boolean> = {
  schema: { type: 'boolean', default: false },
  expected: 'true or false',
  parse: (value = false) => (typeof value === 'boolean' ? value : undefined),
}

/** The `ok` of an answer. */
export const ok: Field<true> = {
  schema: { const: true },
  expected: 'true',
  parse: (value) => (value === true ? value : undefined),
}

/** True or `"true"`, as the public command line client sends flags; all else is false. */
export const said: Field<boolean> = {
  schema: { enum: [true, false, 'true'], default: false },
  expected: flag.expected,
  parse: (value) => value === true || value === 'true',
}

export const texts: Field<readonly string[]> = {
  schema: { type: 'array', items: text.schema },
  expected: 'an array of strings',
  parse: (value) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined,
}

export function oneOf<T extends string>(choices: readonly T[]): Field<T> {
  return {
    schema: { enum: choices },
    expected: `one of ${choices.join(', ')}`,
    parse: (value) => choices.find((choice) => choice === value),
  }
}

/** One of these words, or a number. */
export function numberOr<T extends string>(...words: readonly T[]): Field<number | T> {
  return {
    schema: { anyOf: [number.schema, { enum: words }] },
    expected: number.expected,
    parse: (value) => words.find((word) => word === value) ?? number.parse(value),
  }
}

/** Absent and null are the same. */
export function optional<T>(field: Field<T>): Field<T | null> {
  const { default: _, ...schema } = field.schema
  return {
    ...field,
    schema,
    parse: (value) => (value === undefined || value === null ? null : field.parse(value)),
  }
}

/** The field with a description of its values, and further keywords of JSON Schema. */
export function described<T>(
  field: Field<T>,
  description: string | undefined,
  keywords?: Schema,
): Field<T> {
  return { ...field, schema: { ...field.schema, description, ...keywords } }
}
