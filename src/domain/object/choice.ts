import type { StoredRow } from '../store/objects'
import { invalidRequest } from '../value/error'
import { foldText } from '../value/fold'
import { type Filter, parseFilters } from './filter'

/** The objects of a table that a person asks for. */
export interface Choice {
  /** As in the query of an address: `done=false&title=milk`; empty: all objects. */
  readonly filter: string
  /** A part of a key or of the JSON of an object, whatever its case and accents; empty: all objects. */
  readonly search: string
  /** Only keys that begin with this. */
  readonly prefix: string
}

/** The filters of a choice. Throws `INVALID_REQUEST`. */
export function filtersOf({ filter }: Pick<Choice, 'filter'>): readonly Filter[] {
  const { filters, limit, after } = parseFilters(filter)
  if (limit === undefined && after === undefined) return filters
  throw invalidRequest('A filter has no "$limit" and no "$after"')
}

/** Whether an object has the text; undefined: each has it. */
export function searching(
  text: string,
): ((row: Pick<StoredRow, 'key' | 'value'>) => boolean) | undefined {
  if (text === '') return undefined
  const part = foldText(text)
  return ({ key = '', value }) => foldText(value).includes(part) || foldText(key).includes(part)
}
