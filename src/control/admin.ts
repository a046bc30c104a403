import { type LiveSession, roleOf } from '../auth/admin/sessions'
import { type Actor, SERVER, tokenFacts } from '../domain/access/actor'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Caller } from './caller'
import type { StatusOf } from './event'
import { type Fields, type Schema, schemaOf, type Values } from './fields'
import type { AnyOperation, Effect, Named } from './operation'
import { findOperation, operationNames } from './operations'
import { answerPerforming, perform } from './perform'

/** The table of operations for the page of administrators (admin.md §3). */
export interface AdminTable {
  /** The operations that the session may use. */
  list(session: LiveSession): readonly AdminOperation[]
  /**
   * Lets a session in, by all that is known before its input is read; `address` is the IP address. Throws
   * `UNKNOWN_ROUTE` and `NOT_AUTHORIZED`.
   */
  admit(session: LiveSession, name: string, address: string): AdmittedOperation
}

/** An operation as the page sees it. */
export interface AdminOperation {
  readonly name: string
  readonly summary: string
  readonly effect: Effect
  readonly isFollowing: boolean
  /** The fields of which the last one that has a value is repeated in `confirm`, to destroy what it names. */
  readonly confirms: readonly string[]
  readonly input: Schema
}

export interface AdmittedOperation {
  /** True when it may change something. */
  readonly isChange: boolean
  /** True when it goes on until its caller leaves. */
  readonly follows: boolean
  /**
   * Checks the input, in which `confirm` repeats the name of the thing that is destroyed. Throws `INVALID_REQUEST`,
   * `NOT_AUTHORIZED`, and `CONFIRMATION_NEEDED` for secrets after a login that is not fresh.
   */
  order(input: unknown): AdminOrder
}

/** An operation that may run. */
export interface AdminOrder {
  /** Answers at once; the events follow. Throws `TOO_MANY_REQUESTS` when too many callers follow. */
  events(streams: AdminStreams): Response
  /** Runs it; `download` takes the bytes of its file. Resolves to its output. */
  run(download: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal): Promise<unknown>
}

export interface AdminStreams {
  readonly upload: ReadableStream<Uint8Array> | null
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
  /** Aborted when the session has ended. */
  readonly ended: AbortSignal
  readonly finished: () => void
  readonly statusOf: StatusOf
}

/** How many answers may follow what happens, of all sessions, and of those of one client. */
const MAX_FOLLOWERS = 20
const MAX_FOLLOWERS_OF_CLIENT = 5

export function createAdminTable(folder: DataFolder): AdminTable {
  const served = { ...folder, hosts: folder.hostsAt('page') }
  /** The clients of the answers that follow; null for the owner of the data folder. */
  const followers: (string | null)[] = []

  function events(
    operation: Named<AnyOperation>,
    values: Values<Fields>,
    caller: Caller,
    { upload, finished, ...streams }: AdminStreams,
  ): Response {
    const leave = operation.follows === true ? enter(caller) : () => undefined
    return answerPerforming(served, operation, values, {
      ...streams,
      body: upload,
      caller,
      finished() {
        leave()
        finished()
      },
    })
  }

  /** Counts an answer that follows, until the function that is returned is called. Throws `TOO_MANY_REQUESTS`. */
  function enter({ actor }: Caller): () => void {
    const client = actor.credential?.facts.clientId ?? null
    const own = followers.filter((other) => other === client).length
    const isBeyond = client !== null && own >= MAX_FOLLOWERS_OF_CLIENT
    if (isBeyond || followers.length >= MAX_FOLLOWERS) throw tooManyFollowers()
    followers.push(client)
    return () => void followers.splice(followers.indexOf(client), 1)
  }

  return {
    list: (session) =>
      operationNames().flatMap((name) => {
        const operation = findOperation(name)
        const isShown = operation !== undefined && findRefusal(session, operation) === undefined
        const isHere = !name.startsWith('test.') || folder.testing !== undefined
        return isShown && isHere ? [describe(operation)] : []
      }),

    admit(session, name, address) {
      const operation = findOperation(name)
      if (operation === undefined) throw unknownOperation()
      const refusal = findRefusal(session, operation)
      if (refusal !== undefined) throw refusal
      return {
        isChange: operation.effect !== 'read',
        follows: operation.follows === true,
        order(input) {
          const values = operation.read(input)
          requireOrder(session, operation, values, input)
          const caller = callerOf(session, address)
          return {
            events: (streams) => events(operation, values, caller, streams),
            run: (download, signal) =>
              perform(served, operation, values, { download, signal }, caller),
          }
        },
      }
    },
  }
}

function describe({ name, summary, effect, follows, input }: Named<AnyOperation>): AdminOperation {
  const isNamed = effect === 'destroy' && !Object.hasOwn(input, 'confirm')
  return {
    name,
    summary,
    effect,
    isFollowing: follows === true,
    confirms: isNamed ? namesOf(input) : [],
    input: schemaOf(input),
  }
}

/** The reason why a session may not use an operation at all. */
function findRefusal(session: LiveSession, operation: AnyOperation): SatchelError | undefined {
  const { scopes, effect, input } = operation
  if (session.isReadOnly && effect !== 'read' && operation.asks === undefined) return readOnly()
  if (roleOf(session) === 'operator') return undefined
  if (scopes === 'operator' || !Object.hasOwn(input, 'database')) return notAuthorized('operator')
  const missing = scopes.find((scope) => !session.scopes.includes(scope))
  return missing === undefined ? undefined : notAuthorized(`scope ${missing}`)
}

function requireOrder(
  session: LiveSession,
  operation: AnyOperation,
  values: Values<Fields>,
  input: unknown,
): void {
  if (session.database !== null && values['database'] !== session.database) {
    throw notAuthorized('database')
  }
  const { effect } = operation
  if (effect === 'read' || operation.asks?.(values) === true) return
  if (session.isReadOnly) throw readOnly()
  if (effect === 'secret' && session.confirmedUntil <= session.at) {
    throw new SatchelError(
      'CONFIRMATION_NEEDED',
      'Showing a secret needs a login of the last ten minutes: run satchel admin --confirm, or ask for a new code',
    )
  }
  if (effect === 'destroy') requireName(operation, values, input)
}

/** Throws `INVALID_REQUEST` unless the input repeats the name of the thing that is destroyed. */
function requireName({ input: fields }: AnyOperation, values: Values<Fields>, input: unknown) {
  if (Object.hasOwn(fields, 'confirm')) return
  const named = namesOf(fields).findLast((name) => values[name] !== null && values[name] !== '')
  const { confirm } = input as { readonly confirm?: unknown }
  if (named !== undefined && confirm === values[named]) return
  throw new SatchelError(
    'INVALID_REQUEST',
    `confirm must repeat ${named ?? 'the name'}, because this cannot be undone`,
    { reason: 'confirm' },
  )
}

/** The fields that are texts. The database comes first: it is named where nothing in it is. */
function namesOf(fields: Fields): readonly string[] {
  const texts = Object.keys(fields).filter((name) => fields[name]?.schema['type'] === 'string')
  const names = texts.filter((name) => name !== 'database')
  return texts.includes('database') ? ['database', ...names] : names
}

function callerOf(session: LiveSession, address: string): Caller {
  const isOperator = roleOf(session) === 'operator'
  return {
    actor: actorOf(session),
    isOperator,
    door: 'page',
    uid: null,
    address,
    session: session.id,
    isReadOnly: session.isReadOnly,
  }
}

/** A client acts as by a token of its own, which ends with it in the unit that serves the data. */
function actorOf({ client, scopes, ends, at }: LiveSession): Actor {
  if (client === null) return SERVER
  const facts = tokenFacts({
    subject: client.id,
    clientId: client.id,
    login: null,
    incarnation: null,
  })
  return {
    subject: client.id,
    email: client.email,
    name: null,
    scopes: new Set(scopes),
    credential: { facts, verified: at, expires: ends },
  }
}

function notAuthorized(reason: string): SatchelError {
  return new SatchelError('NOT_AUTHORIZED', 'Not authorized', { reason })
}

function readOnly(): SatchelError {
  return new SatchelError('NOT_AUTHORIZED', 'This login may only read', { reason: 'read-only' })
}

function unknownOperation(): SatchelError {
  return new SatchelError('UNKNOWN_ROUTE', 'There is no such operation: reload the page')
}

function tooManyFollowers(): SatchelError {
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    'Too many pages follow what happens already: close one of them',
    { retryAfter: 10 },
  )
}
