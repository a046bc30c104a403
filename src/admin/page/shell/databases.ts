import { computed, effect, signal } from '@preact/signals'
import { call } from '../server/call'
import { isLoggedIn, may, session } from '../server/session'

export interface DatabaseInfo {
  readonly name: string
  readonly url: string
}

const listed = signal<readonly DatabaseInfo[]>([])

/** The names of the databases that the session may see. */
export const databaseNames = computed(() =>
  listed.value.length > 0 ? listed.value.map(({ name }) => name) : (session.value?.databases ?? []),
)

/** The address of a database, for applications. */
export function urlOf(name: string): string {
  return (
    listed.value.find((each) => each.name === name)?.url ??
    `${location.origin}${location.pathname.replace(/\/admin\/?$/, '')}/${name}`
  )
}

/** Asks for the list again, after a database was created or deleted. */
export async function reloadDatabases(): Promise<void> {
  if (!isLoggedIn.peek() || !may('db.list')) return
  listed.value = await call<readonly DatabaseInfo[]>('db.list', {}).catch(() => listed.peek())
}

effect(() => {
  if (isLoggedIn.value) void reloadDatabases()
})
