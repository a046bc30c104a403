import { computed, effect, signal } from '@preact/signals'
import { follow, type FollowState } from '../server/call'
import { may } from '../server/session'
import { database } from '../shell/route'
import type { LiveEvent } from '../../../host/live-event'
import { addItems, EMPTY_FEED, type Feed } from './feed'

/** The lines of the chosen database. They go on while other pages are open. */
export const feed = signal<Feed>(EMPTY_FEED)
export const state = signal<FollowState>('connecting')
export const failure = signal<unknown>(undefined)
/** Lines wait while this is true. */
export const isPaused = signal(false)
export const waitingCount = signal(0)

let waiting: LiveEvent[] = []
/** More are dropped, and counted as missed. */
const MOST_WAITING = 2_000
let frame: number | undefined

/** Also while the session has ended: it goes on after the next login. */
const mayFollow = computed(() => may('live.follow'))
/** Counts how often a person tried again. */
const turn = signal(0)

effect(() => {
  const name = database.value
  if (name === '' || !mayFollow.value) return undefined
  void turn.value
  const abort = new AbortController()
  if (followed !== name) clear()
  followed = name
  failure.value = undefined
  follow(
    'live.follow',
    { database: name },
    { signal: abort.signal, onItem: take, onState: (next) => (state.value = next) },
  ).catch((error: unknown) => (failure.value = error))
  return () => abort.abort()
})

let followed = ''

/** Follows again after a failure. */
export function tryAgain(): void {
  turn.value += 1
}

/** Lines appear once per frame, however many items arrive. */
function take(item: unknown): void {
  waiting.push(item as LiveEvent)
  if (waiting.length > MOST_WAITING) waiting = [{ kind: 'missed', count: waiting.length }]
  waitingCount.value = waiting.length
  if (!isPaused.peek()) schedule()
}

function schedule(): void {
  frame ??= requestAnimationFrame(show)
}

function show(): void {
  frame = undefined
  feed.value = addItems(feed.peek(), waiting, Date.now())
  waiting = []
  waitingCount.value = 0
}

export function togglePause(): void {
  isPaused.value = !isPaused.value
  if (!isPaused.value) schedule()
}

export function clear(): void {
  const { revision, devices, nextId } = feed.peek()
  feed.value = { ...EMPTY_FEED, revision, devices, nextId }
}
