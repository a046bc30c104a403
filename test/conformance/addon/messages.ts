import type dexieCloud from 'dexie-cloud-addon'
import type { Described } from './described'

/** The actions of the user of the application. */
export type Command =
  | { readonly do: 'login'; readonly hints?: Readonly<Record<string, string>> }
  | { readonly do: 'submit'; readonly fields: Readonly<Record<string, string>> }
  /** Closes the application and opens it, or one that declares other tables, on what it stored. */
  | { readonly do: 'restart'; readonly stores?: Stores }
  | { readonly do: 'user' }
  /** Stores an object on the device. */
  | { readonly do: 'put'; readonly value: Described }
  | { readonly do: 'sync' }
  /** An object as the device has it. */
  | { readonly do: 'read'; readonly id: string }
  /** Runs a function of a test in the application; it takes the database, `given` and the device. */
  | { readonly do: 'run'; readonly code: string; readonly given: unknown }

export type Stores = Readonly<Record<string, string | null>>

/** What an application is like. */
export interface Options {
  /** Another published version of the add-on. */
  readonly addon?: 'dexie-cloud-addon-4.2.5' | 'dexie-cloud-addon-4.3.9'
  /** How much the clock of the device is ahead, ms. */
  readonly clockAhead?: number
  readonly stores?: Stores
  /** Properties may be a `Y.Doc`, with `y-dexie`. */
  readonly hasText?: boolean
  /** Syncs by itself after each change. */
  readonly isEager?: boolean
  /** More of the add-on's own options. */
  readonly cloud?: Readonly<Record<string, unknown>>
}

/** What a test can do to a device. */
export interface Device {
  clockAhead: number
  /** Stands between the add-on and the network: calls `send`, or does not. */
  around: (send: () => Promise<Response>) => Promise<Response>
  /** The requests to `/sync` that were answered. */
  readonly syncs: {
    readonly request: string
    readonly answer: string
    readonly status: number
    /** The headers that say how many requests are left. */
    readonly limits: Readonly<Record<string, string>>
  }[]
  /** Has the changes of a `Y.Doc` stored from now on. */
  readonly openText: (doc: object) => unknown
  /** The add-on, for databases that a test opens beside that of the application. */
  readonly dexieCloud: typeof dexieCloud
}

/** A dialog that the add-on shows. */
export interface Dialog {
  readonly about: 'dialog'
  readonly type: string
  readonly fields: readonly string[]
  readonly alerts: readonly { readonly messageCode: string; readonly message: string }[]
}

/** The messages of the application. */
export type Told =
  | Dialog
  | { readonly about: 'ready' }
  | { readonly about: 'done'; readonly id: number; readonly result: unknown }
  | { readonly about: 'failed'; readonly id: number; readonly reason: string }

/** Whom the add-on believes to be logged in. */
export interface AddonUser {
  readonly userId: string | undefined
  readonly email: string | undefined
  readonly isLoggedIn: boolean | undefined
  readonly license: { readonly type: string; readonly status: string } | undefined
  readonly accessToken: string | undefined
  /** ms since the epoch. */
  readonly expires: number | undefined
  readonly refreshToken: string | undefined
  readonly isKeyExtractable: boolean | undefined
}
