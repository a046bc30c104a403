import { type LiveSession, roleOf } from '../auth/admin/sessions'
import { type Actor, SERVER, tokenFacts } from '../domain/access/actor'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Caller } from './caller'
import { type Fields, schemaOf, type Values } from './fields'
import type { AnyOperation, Named, Streams } from './operation'
import { findOperation, operationNames } from './operations'
import { answerPerforming, type Asking, perform } from './perform'

/** How many answers may follow what happens, of all sessions, and of those of one client. */
const MAX_FOLLOWERS = 20
const MAX_FOLLOWERS_OF_CLIENT = 5

/** The table of operations for the page of administrators (admin.md §3). */
export function createAdminTable(folder: DataFolder) {
  const served = { ...folder, hosts: folder.hostsAt('page') }
  /** The clients of the answers that follow; null for the owner of the data folder. */
  const followers: (string | null)[] = []

  /**
   * Answers at once; the events follow. Throws `INVALID_REQUEST` for an operation that sends a file, and
   * `TOO_MANY_REQUESTS` when too many callers follow.
   */
  function events(
    operation: Named<AnyOperation>,
    values: Values<Fields>,
    caller: Caller,
    { upload, finished, ...streams }: EventStreams,
  ): Response {
    if (operation.sendsFile === true) throw needsTicket()
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
    /** The operations that the session may use. */
    list: (session: LiveSession) =>
      operationNames().flatMap((name) => {
        const operation = findOperation(name)
        const isShown = operation !== undefined && findRefusal(session, operation) === undefined
        const isHere = !name.startsWith('test.') || folder.testing !== undefined
        return isShown && isHere ? [describe(operation)] : []
      }),

    /**
     * Lets a session in, by all that is known before its input is read; `address` is the IP address. Throws
     * `UNKNOWN_ROUTE` and `NOT_AUTHORIZED`.
     */
    admit(session: LiveSession, name: string, address: string) {
      const operation = findOperation(name)
      if (operation === undefined) throw unknownOperation()
      const refusal = findRefusal(session, operation)
      if (refusal !== undefined) throw refusal
      return {
        isChange: operation.effect !== 'read',
        follows: operation.follows === true,
        maxInputBytes: operation.maxInputBytes,
        /**
         * Checks the input, in which `confirm` repeats the name of the thing that is destroyed. Throws `INVALID_REQUEST`,
         * `NOT_AUTHORIZED`, and `CONFIRMATION_NEEDED` for secrets after a login that is not fresh.
         */
        order(input: unknown) {
          const values = operation.read(input)
          requireOrder(session, operation, values, input)
          const caller = callerOf(session, address)
          return {
            events: (streams: EventStreams) => events(operation, values, caller, streams),
            /** `download` takes the bytes of the file. Resolves to the output. */
            run: (download: Download, signal: AbortSignal) =>
              perform(served, operation, values, { download, signal }, caller),
          }
        },
      }
    },
  }
}

type EventStreams = Omit<Asking, 'body' | 'caller'> & {
  readonly upload: Asking['body']
  readonly finished: () => void
}
type Download = NonNullable<Streams['download']>

/** An operation as the page sees it. */
function describe({ name, summary, effect, follows, input }: Named<AnyOperation>) {
  const isNamed = effect === 'destroy' && !Object.hasOwn(input, 'confirm')
  return {
    name,
    summary,
    effect,
    isFollowing: follows === true,
    /** The fields of which the last one that has a value is repeated in `confirm`, to destroy what it names. */
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

function needsTicket(): SatchelError {
  return new SatchelError(
    'INVALID_REQUEST',
    'This operation sends a file: ask for a ticket, and open the address of the file',
  )
}

function tooManyFollowers(): SatchelError {
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    'Too many pages follow what happens already: close one of them',
    { retryAfter: 10 },
  )
}
