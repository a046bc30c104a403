import { SatchelError } from '../domain/value/error'

/** Reads one field of what came over the wire, or throws `INVALID_REQUEST` naming it. */
type Field<T> = (value: unknown, name: string) => T

export type Fields = Readonly<Record<string, Field<unknown>>>

/** What a set of fields reads. */
export type Values<F extends Fields> = { readonly [Name in keyof F]: ReturnType<F[Name]> }

/** Throws `INVALID_REQUEST` when a field is missing or of another type. */
export function readFields<F extends Fields>(fields: F, input: unknown): Values<F> {
  const given: Record<string, unknown> =
    typeof input === 'object' && input !== null ? { ...input } : {}
  const values: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(fields)) values[name] = read(given[name], name)
  return values as Values<F>
}

export const text: Field<string> = (value, name) =>
  typeof value === 'string' ? value : refuse(name, 'a text')

export const number: Field<number> = (value, name) =>
  typeof value === 'number' ? value : refuse(name, 'a number')

export const flag: Field<boolean> = (value, name) =>
  typeof value === 'boolean' ? value : refuse(name, 'true or false')

export const texts: Field<readonly string[]> = (value, name) =>
  Array.isArray(value) ? value.map((item) => text(item, name)) : refuse(name, 'a list of texts')

/** Absent and null are the same. */
export function optional<T>(field: Field<T>): Field<T | null> {
  return (value, name) => (value === undefined || value === null ? null : field(value, name))
}

function refuse(name: string, expected: string): never {
  throw new SatchelError('INVALID_REQUEST', `${name} must be ${expected}`)
}
