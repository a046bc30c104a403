import { computed, signal } from '@preact/signals'
import { Refusal, SESSION_ENDED } from './refusal'
import { isReachable, onSessionEnd, post, request, sessionKey } from './request'

/** The caller, as the gate describes it. Times in ms since the epoch. */
export interface Session {
  readonly role: 'operator' | 'client'
  readonly scopes: readonly string[]
  readonly databases: readonly string[]
  readonly isReadOnly: boolean
  readonly expiresAt: number
  readonly confirmedUntil: number
  /** The address of the owner of the client. */
  readonly email: string | null
  /** The newest login of another browser. */
  readonly otherLogin: { readonly at: number; readonly address: string } | null
}

export interface OperationInfo {
  readonly name: string
  readonly summary: string
  readonly effect: 'read' | 'write' | 'secret' | 'destroy'
  readonly isFollowing: boolean
  /** The fields of which the last one with a value is repeated in `confirm`. */
  readonly confirms: readonly string[]
}

/** Undefined until the page knows whether there is a session. */
export const session = signal<Session | null | undefined>(undefined)

/** The operations that this session may use, by name. */
export const operations = signal<ReadonlyMap<string, OperationInfo>>(new Map())

/** True when a session was open in this tab before: its pages stay as they are behind the login. */
export const hasEnded = signal(false)

export const isLoggedIn = computed(() => Boolean(session.value))

export const isReadOnly = computed(() => session.value?.isReadOnly ?? true)

/** True when the session may use an operation. */
export function may(operation: string): boolean {
  return operations.value.has(operation)
}

const STORED = 'satchel-admin-key'
const ANSWER_MS = 120
let adopting: Promise<boolean> | undefined
const channel = new BroadcastChannel('satchel-admin')

/** The messages of tabs: a question for the key, the key, and that the person has logged out. */
type Message = { readonly asks: true } | { readonly key: string } | { readonly isOut: true }

channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if ('asks' in data) {
    if (session.peek() && sessionKey.peek() !== null) tell({ key: sessionKey.peek() ?? '' })
  } else if ('key' in data) {
    if (!session.peek() || sessionKey.peek() !== data.key) adopting = adopt(data.key)
  } else {
    leave()
  }
})

onSessionEnd.handler = forget

/** Finds the session of this tab: by the kept key, by another tab, and by the code of a link. */
export async function resume(): Promise<void> {
  const code = takeLinkCode(`${location.pathname}#/`)
  const kept = sessionStorage.getItem(STORED)
  if (kept === null || !(await adopt(kept))) await askOthers()
  if (code !== undefined) await openLink(code)
  session.value ??= null
}

/** Waits a moment for the key of another tab. */
async function askOthers(): Promise<void> {
  tell({ asks: true })
  await new Promise((resolve) => setTimeout(resolve, ANSWER_MS))
  await adopting
}

/** The refusal of the link that opened the page, or was opened in it. */
export const linkError = signal<unknown>(undefined)

async function openLink(code: string): Promise<void> {
  linkError.value = undefined
  await logIn({ code }).catch((error: unknown) => (linkError.value = error))
}

/** The code of a link, `#<code>`, is replaced in the history at once. Addresses of pages begin with `#/`. */
function takeLinkCode(address: string): string | undefined {
  const text = location.hash.slice(1)
  if (text === '' || text.startsWith('/')) return undefined
  history.replaceState(null, '', address)
  return text
}

addEventListener('hashchange', ({ oldURL }) => {
  // The page stays where it is, with all that is typed into it.
  const code = takeLinkCode(oldURL)
  if (code !== undefined) void openLink(code)
})

export type Proof =
  | { readonly code: string }
  | { readonly database: string; readonly email: string; readonly otp: string }

/** Begins a session, or confirms this one. Throws a `Refusal`. */
export async function logIn(proof: Proof): Promise<void> {
  const answer = await post('session', proof)
  const { key, ...found } = (await answer.json()) as Session & { readonly key?: string }
  // Without a key, the session of this tab was confirmed.
  if (key !== undefined) {
    sessionKey.value = key
    sessionStorage.setItem(STORED, key)
    tell({ key })
  }
  await open(found)
}

/** Mails a code, if the address has a client in the database. The answer does not say so. */
export async function requestOtp(database: string, email: string): Promise<void> {
  await post('otp', { database, email })
}

export async function logOut(): Promise<void> {
  await request('session', { method: 'DELETE' }).catch(() => undefined)
  tell({ isOut: true })
  leave()
}

/** Shows the login, with no data on the screen or in the memory of the tab. */
function leave(): void {
  forget()
  hasEnded.value = false
  if (isReachable.peek()) location.reload()
}

/** Asks again for the times of the session, and for its operations if it has other scopes now. */
export async function refreshSession(): Promise<void> {
  const before = session.peek()?.scopes
  const found = (await (await request('session')).json()) as Session
  if (found.scopes.join() === before?.join()) session.value = found
  else await open(found)
}

/** False when the key belongs to no session any more. */
async function adopt(key: string): Promise<boolean> {
  const before = sessionKey.value
  sessionKey.value = key
  try {
    await open((await (await request('session')).json()) as Session)
    sessionStorage.setItem(STORED, key)
    return true
  } catch (error) {
    if (error instanceof Refusal && error.code === SESSION_ENDED) return false
    // The server does not answer: the key may be good.
    if (error instanceof Refusal && error.status === 0) return false
    sessionKey.value = before
    return false
  }
}

async function open(found: Session): Promise<void> {
  const list = (await (await request('operations')).json()) as readonly OperationInfo[]
  operations.value = new Map(list.map((each) => [each.name, each]))
  session.value = found
  hasEnded.value = false
}

function forget(): void {
  if (session.peek()) hasEnded.value = true
  session.value = null
  sessionKey.value = null
  sessionStorage.removeItem(STORED)
}

function tell(message: Message): void {
  channel.postMessage(message)
}
