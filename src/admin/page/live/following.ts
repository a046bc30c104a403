import { computed, effect, signal } from '@preact/signals'
import { follow, type FollowState } from '../server/call'
import { may } from '../server/session'
import { database } from '../shell/route'
import type { LiveEvent } from '../../../host/live-event'
import { addItems, EMPTY_FEED, type Feed, withoutOld } from './feed'

/** The lines of the chosen database that are shown. They go on while other pages are open. */
export const feed = signal<Feed>(EMPTY_FEED)
export const state = signal<FollowState>('connecting')
export const failure = signal<unknown>(undefined)
/** Lines wait while this is true. */
export const isPaused = signal(false)
export const waitingCount = signal(0)

/** With the lines that wait. */
let latest = EMPTY_FEED
let items: LiveEvent[] = []
/** A page out of view has no frames: so many items are added without one. */
const MOST_ITEMS = 2_000
let frame: number | undefined

/** Also while the session has ended: it goes on after the next login. */
const mayFollow = computed(() => may('live.follow'))
/** Counts how often a person tried again. */
const turn = signal(0)
let followed = ''

effect(() => {
  const name = database.value
  if (name === '' || !mayFollow.value) return undefined
  void turn.value
  const abort = new AbortController()
  if (followed !== name) begin()
  followed = name
  failure.value = undefined
  follow(
    'live.follow',
    { database: name },
    { signal: abort.signal, onItem: take, onState: (next) => (state.value = next) },
  ).catch((error: unknown) => (failure.value = error))
  return () => abort.abort()
})

/** Revisions, devices and lines of another database mean nothing here. */
function begin(): void {
  latest = { ...EMPTY_FEED, nextId: latest.nextId }
  items = []
  isPaused.value = false
  show()
}

/** Follows again after a failure. */
export function tryAgain(): void {
  turn.value += 1
}

/** Lines appear once per frame, however many items arrive. */
function take(item: unknown): void {
  items.push(item as LiveEvent)
  if (items.length === MOST_ITEMS) addAll()
  frame ??= requestAnimationFrame(() => {
    frame = undefined
    addAll()
    show()
  })
}

function addAll(): void {
  latest = addItems(latest, items, Date.now())
  items = []
}

function show(): void {
  if (!isPaused.peek()) feed.value = latest
  waitingCount.value = latest.nextId - feed.peek().nextId
}

export function togglePause(): void {
  isPaused.value = !isPaused.value
  show()
}

/** Lines that wait are kept. */
export function clear(): void {
  const { nextId } = feed.peek()
  latest = withoutOld(latest, nextId)
  feed.value = withoutOld(feed.peek(), nextId)
}
