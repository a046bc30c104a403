type Json = Readonly<Record<string, unknown>>

/** Finds what `$ref` points at inside a document. */
export type Resolve = (reference: string) => unknown

/**
 * What is wrong with a value by a schema of JSON Schema 2020-12, one line per fault; none when it is
 * valid. Throws for a keyword that it does not know, so that none is passed over.
 */
export function faultsOf(schema: unknown, value: unknown, resolve: Resolve, path = '$'): string[] {
  if (typeof schema === 'boolean') return schema ? [] : [`${path} must not be there`]
  const rules = recordOf(schema)
  return Object.entries(rules).flatMap(([keyword, rule]) => {
    const check = KEYWORDS[keyword]
    if (check === undefined) throw new Error(`the keyword ${keyword} is not known`)
    return check({
      rule,
      value,
      path,
      rules,
      faults: (sub, part, at) => faultsOf(sub, part, resolve, at),
      resolve,
    })
  })
}

interface Checking {
  readonly rule: unknown
  readonly value: unknown
  readonly path: string
  /** The schema around the keyword. */
  readonly rules: Json
  readonly faults: (schema: unknown, value: unknown, path: string) => string[]
  readonly resolve: Resolve
}

type Keyword = (checking: Checking) => string[]

const annotation: Keyword = () => []

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  $ref: ({ rule, value, path, resolve, faults }) => faults(resolve(String(rule)), value, path),
  type: ({ rule, value, path }) =>
    unless(
      [rule].flat().some((name) => isOfType(value, name)),
      `${path} is no ${String(rule)}`,
    ),
  enum: ({ rule, value, path }) =>
    unless(arrayOf(rule).includes(value), `${path} is none of ${String(rule)}`),
  const: ({ rule, value, path }) => unless(rule === value, `${path} is not ${String(rule)}`),
  properties: ({ rule, value, path, faults }) =>
    isObject(value)
      ? Object.entries(recordOf(rule))
          .filter(([name]) => Object.hasOwn(value, name))
          .flatMap(([name, schema]) => faults(schema, value[name], `${path}.${name}`))
      : [],
  required: ({ rule, value, path }) =>
    isObject(value)
      ? arrayOf(rule)
          .filter((name) => !Object.hasOwn(value, String(name)))
          .map((name) => `${path}.${String(name)} is missing`)
      : [],
  additionalProperties: ({ rule, rules, value, path, faults }) =>
    isObject(value)
      ? Object.entries(value)
          .filter(([name]) => !Object.hasOwn(recordOf(rules['properties'] ?? {}), name))
          .flatMap(([name, part]) => faults(rule, part, `${path}.${name}`))
      : [],
  items: ({ rule, value, path, faults }) =>
    Array.isArray(value)
      ? value.flatMap((item, place) => faults(rule, item, `${path}[${place}]`))
      : [],
  minItems: ({ rule, value, path }) =>
    unless(!Array.isArray(value) || value.length >= Number(rule), `${path} is too short`),
  maxItems: ({ rule, value, path }) =>
    unless(!Array.isArray(value) || value.length <= Number(rule), `${path} is too long`),
  anyOf: ({ rule, value, path, faults }) => {
    const found = arrayOf(rule).map((schema) => faults(schema, value, path))
    return found.some((list) => list.length === 0) ? [] : found.flat()
  },
  oneOf: ({ rule, value, path, faults }) => {
    const found = arrayOf(rule).map((schema) => faults(schema, value, path))
    const valid = found.filter((list) => list.length === 0)
    if (valid.length === 1) return []
    return valid.length === 0 ? found.flat() : [`${path} is several of oneOf`]
  },
  allOf: ({ rule, value, path, faults }) =>
    arrayOf(rule).flatMap((schema) => faults(schema, value, path)),
  not: ({ rule, value, path, faults }) =>
    unless(faults(rule, value, path).length > 0, `${path} is what it must not be`),
  minLength: ({ rule, value, path }) =>
    unless(typeof value !== 'string' || value.length >= Number(rule), `${path} is too short`),
  maxLength: ({ rule, value, path }) =>
    unless(typeof value !== 'string' || value.length <= Number(rule), `${path} is too long`),
  pattern: ({ rule, value, path }) =>
    unless(
      typeof value !== 'string' || new RegExp(String(rule), 'u').test(value),
      `${path} does not match ${String(rule)}`,
    ),
  minimum: ({ rule, value, path }) =>
    unless(typeof value !== 'number' || value >= Number(rule), `${path} is too small`),
  maximum: ({ rule, value, path }) =>
    unless(typeof value !== 'number' || value <= Number(rule), `${path} is too large`),
  description: annotation,
  examples: annotation,
  default: annotation,
  format: annotation,
  contentEncoding: annotation,
  discriminator: annotation,
}

function unless(isRight: boolean, fault: string): string[] {
  return isRight ? [] : [fault]
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'number':
    case 'string':
    case 'boolean':
      return typeof value === type
    default:
      throw new Error(`the type ${String(type)} is not known`)
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function recordOf(value: unknown): Json {
  if (isObject(value)) return value
  throw new Error(`no object: ${JSON.stringify(value)}`)
}

function arrayOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Error(`no array: ${JSON.stringify(value)}`)
}
