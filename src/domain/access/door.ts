import type { Scope } from '../value/scope'
import { type Actor, requireScopes } from './actor'
import { type View, type ViewName, VIEWS } from './view'

/**
 * The callers that a door lets in: the bearer of a token with all of these scopes; with `withToken`
 * anonymous callers too, and the bearers of a token with these; with `anyone` all callers, who get what
 * everybody may have, whatever their token is. The other doors ask for credentials of their own: those
 * of a `client` or of a person who logs in, a `ticket` that was issued for this door alone, or the
 * secret in a `link`.
 */
export type Door =
  | readonly Scope[]
  | { readonly withToken: readonly Scope[] }
  | 'anyone'
  | 'client'
  | 'ticket'
  | 'link'

const PERSON: readonly Scope[] = ['ACCESS_DB']
export const READ: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ']
export const WRITE: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
export const MANAGE: readonly Scope[] = ['MANAGE_DB']
/** An import declares tables, as the schema does, and writes everywhere. */
export const IMPORT: readonly Scope[] = ['MANAGE_DB', 'GLOBAL_WRITE']
const ERASE: readonly Scope[] = ['GLOBAL_WRITE']

/** The doors of a server by the operation behind them (promise 47). Each route names its own. */
export const DOORS = {
  ...viewDoors('all', 'all'),
  ...viewDoors('my', 'my'),
  ...viewDoors('public', 'public'),
  ...viewDoors('table', 'my'),
  explain: READ,

  sync: { withToken: PERSON },
  listen: { withToken: PERSON },

  uploadBlob: PERSON,
  downloadBlob: { withToken: PERSON },

  listUsers: READ,
  /** Others need the scopes of `listUsers`. */
  getUser: PERSON,
  writeUsers: WRITE,
  /** Others need the scopes of `writeUsers`. */
  deleteUser: PERSON,

  changeOrigins: MANAGE,
  clearTable: ERASE,
  clearRealm: ERASE,
  deleteDatabase: ['DELETE_DB'],
  undeleteDatabase: MANAGE,
  listClients: MANAGE,
  addClient: MANAGE,
  deleteClients: MANAGE,
  rotateClient: MANAGE,
  pullTemplates: MANAGE,
  pushTemplates: MANAGE,
  resetTemplates: MANAGE,
  testTemplate: MANAGE,

  importFile: IMPORT,
  importLines: IMPORT,
  importBlobs: IMPORT,
  exportDatabase: READ,
  exportLines: READ,
  exportBlobs: READ,

  /** The claims of the token itself. */
  validateToken: [],
  requestToken: 'client',
  connectClient: 'ticket',
  createDatabase: 'ticket',
  createDatabaseOfSdk: 'ticket',
  /** The addresses for tests, which exist in test mode only. */
  test: 'ticket',
  showInvitation: 'link',
  answerInvitation: 'link',

  requestServiceToken: 'anyone',
  requestServiceTokenOfSdk: 'anyone',
  listPublicKeys: 'anyone',
  listLoginProviders: 'anyone',
  beginLogin: 'anyone',
  describeService: 'anyone',
  readGuides: 'anyone',
  readGuide: 'anyone',
  checkHealth: 'anyone',
  checkReadiness: 'anyone',
  readDocumentation: 'anyone',
  describeInterface: 'anyone',
  loadAsset: 'anyone',
} as const satisfies Readonly<Record<string, Door>>

export type DoorName = keyof typeof DOORS

/** The door of an operation that a route or the documentation names. Throws where there is none. */
export function doorOf(name: string): Door {
  if (!Object.hasOwn(DOORS, name)) throw new Error(`there is no door ${name}`)
  return DOORS[name as DoorName]
}

/** The scopes that the bearer of a token needs at a door; undefined where tokens do not count. */
export function scopesOf(door: Door): readonly Scope[] | undefined {
  if (typeof door === 'string') return undefined
  return 'withToken' in door ? door.withToken : door
}

/** Throws `INVALID_TOKEN` for an anonymous caller, `NOT_AUTHORIZED` for one without the scopes. */
export function requireDoor(actor: Actor, door: Door): void {
  const scopes = scopesOf(door)
  if (scopes === undefined) return
  const isOptional = typeof door === 'object' && 'withToken' in door
  if (!isOptional || actor.subject !== null) requireScopes(actor, scopes)
}

type ViewDoors<N extends string> = Readonly<Record<`${N}${'List' | 'Get'}`, Door>> &
  Readonly<Record<`${N}${'Upsert' | 'Replace' | 'Delete'}`, readonly Scope[]>>

function viewDoors<N extends string>(name: N, view: ViewName): ViewDoors<N> {
  const { read, write }: View = VIEWS[view]
  return {
    [`${name}List`]: read ?? 'anyone',
    [`${name}Get`]: read ?? 'anyone',
    [`${name}Upsert`]: write,
    [`${name}Replace`]: write,
    [`${name}Delete`]: write,
  } as ViewDoors<N>
}
