import { expect, test } from 'bun:test'
import {
  addItems,
  EMPTY_FEED,
  type Feed,
  matches,
  MOST_ENTRIES,
} from '../../src/admin/page/live/feed'
import type { CommitEvent, HeardEvent, RejectedEvent } from '../../src/host/live-event'

const writer = {
  uid: 'alice@example.com',
  email: null,
  client: null,
  device: 'tablet',
  door: 'sync',
}
const commit = (revision: number): CommitEvent => ({
  kind: 'commit',
  at: revision,
  revision,
  tables: [{ table: 'items', puts: 1, deletes: 0, keys: ['milk'] }],
  hasMore: false,
  realms: ['rlm1'],
  records: [],
  writer,
})
const heard = (revision: number, device: string): HeardEvent => ({
  kind: 'heard',
  after: revision - 1,
  revision,
  device,
  uid: 'bob@example.com',
  outcome: 'sent',
  afterMs: 4,
})
const rejected: RejectedEvent = {
  kind: 'rejected',
  at: 1,
  writer,
  table: 'items',
  key: 'bread',
  code: 'NOT_AUTHORIZED',
  rule: null,
  txid: 't1',
  message: 'No permission adds to items',
}
const feedOf = (...items: Parameters<typeof addItems>[1]): Feed => addItems(EMPTY_FEED, items, 9)

test('the newest line comes first, and devices are added to their commit', () => {
  const { entries } = feedOf(commit(1), commit(2), heard(1, 'phone'), rejected)
  expect(entries).toMatchObject([
    { rejected: { key: 'bread' } },
    { commit: { revision: 2 }, heard: [] },
    { commit: { revision: 1 }, heard: [{ device: 'phone' }] },
  ])
})

test('a device that heard of a commit which is not shown any more is left out', () => {
  expect(feedOf(heard(7, 'phone')).entries).toEqual([])
})

test('a message with the changes of several commits belongs to each of them', () => {
  const { entries } = feedOf(commit(1), commit(2), commit(3), { ...heard(3, 'phone'), after: 1 })
  expect(entries).toMatchObject([
    { commit: { revision: 3 }, heard: [{ device: 'phone' }] },
    { commit: { revision: 2 }, heard: [{ device: 'phone' }] },
    { commit: { revision: 1 }, heard: [] },
  ])
})

test('a device that a commit does not concern has no badge', () => {
  const { entries } = feedOf(commit(1), { ...heard(1, 'phone'), outcome: 'nothing' })
  expect(entries).toMatchObject([{ heard: [] }])
})

test('after a cut, the page says how many changes it missed', () => {
  const before = feedOf({ kind: 'start', at: 1, revision: 4 }, commit(5))
  const start = (revision: number) => ({ kind: 'start', at: 8, revision }) as const
  expect(addItems(before, [start(8), commit(9)], 9).entries).toMatchObject([
    { commit: { revision: 9 } },
    { gap: { missed: 3, of: 'change' } },
    { commit: { revision: 5 } },
  ])
  expect(addItems(before, [start(5), commit(6)], 9).entries).toHaveLength(2)
})

test('a follower that was too slow says what it missed', () => {
  expect(feedOf({ kind: 'missed', count: 12 }).entries).toMatchObject([
    { gap: { missed: 12, of: 'event' } },
  ])
})

test('devices are counted while they are connected', () => {
  const session = (state: 'there' | 'opened' | 'closed', device = 'd1') =>
    ({ kind: 'session', at: 1, device, uid: 'alice@example.com', origin: null, state }) as const
  const opened = feedOf(session('there'), session('opened', 'd2'))
  expect([...opened.devices.keys()]).toEqual(['d1', 'd2'])
  expect(addItems(opened, [session('closed')], 9).devices.size).toBe(1)
  expect(addItems(opened, [{ kind: 'start', at: 9, revision: 1 }], 9).devices.size).toBe(0)
})

test('the oldest lines are dropped', () => {
  const items = Array.from({ length: MOST_ENTRIES + 5 }, (_, at) => commit(at))
  const { entries } = feedOf(...items)
  expect(entries).toHaveLength(MOST_ENTRIES)
  expect(entries.at(-1)).toMatchObject({ commit: { revision: 5 } })
})

test('lines are found by writer, table, key, realm, code, sentence and listener', () => {
  const { entries } = feedOf(commit(1), heard(1, 'phone'), rejected)
  const [refusal, change] = entries
  if (refusal === undefined || change === undefined) throw new Error('two lines are expected')
  for (const text of ['ALICE', 'items', 'milk', 'rlm1', 'bob', '']) {
    expect(matches(change, text, false)).toBe(true)
  }
  for (const text of ['bread', 'not_auth', 'permission']) {
    expect(matches(change, text, false)).toBe(false)
    expect(matches(refusal, text, true)).toBe(true)
  }
  expect(matches(change, '', true)).toBe(false)
})
