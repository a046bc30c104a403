import { computed, signal } from '@preact/signals'
import { type Place, readHash, writeHash } from './address'

/** The place that the address names. */
export const place = signal<Place>(readHash(location.hash))

addEventListener('hashchange', () => {
  if (location.hash.startsWith('#/')) place.value = readHash(location.hash)
})

/** The chosen database; empty where none is. */
export const database = computed(() => place.value.database)

/** The address of a page of the chosen database. */
export function hrefOf(page: string, ...rest: readonly string[]): string {
  return writeHash({ database: place.value.database, page, rest })
}

/** The address of a page of another database. */
export function hrefIn(name: string, page: string): string {
  return writeHash({ database: name, page, rest: [] })
}

export function goTo(page: string, ...rest: readonly string[]): void {
  location.hash = hrefOf(page, ...rest)
}

/** As `goTo`, in place of the present entry of the history. */
export function replacePlace(to: Place): void {
  history.replaceState(null, '', writeHash(to))
  place.value = to
}

export function chooseDatabase(name: string, page = place.value.page || 'live'): void {
  location.hash = hrefIn(name, page)
}
