import { expect, test } from 'bun:test'
import {
  addItems,
  type Commit,
  cutFeed,
  EMPTY_FEED,
  type Feed,
  type Heard,
  matches,
  MOST_ENTRIES,
  type Rejected,
} from '../../src/admin/page/live/feed'

const writer = { uid: 'alice@example.com', door: 'sync' }
const commit = (revision: number): Commit => ({
  kind: 'commit',
  at: revision,
  revision,
  tables: [{ table: 'items', puts: 1, deletes: 0, keys: ['milk'] }],
  realms: ['rlm1'],
  writer,
})
const heard = (revision: number, device: string): Heard => ({
  kind: 'heard',
  revision,
  device,
  uid: 'bob@example.com',
  outcome: 'sent',
  afterMs: 4,
})
const rejected: Rejected = {
  kind: 'rejected',
  at: 1,
  writer,
  table: 'items',
  key: 'bread',
  code: 'NOT_AUTHORIZED',
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

test('after a cut, the page says how many changes it missed', () => {
  const cut = cutFeed(feedOf(commit(5)))
  expect(addItems(cut, [commit(9)], 9).entries).toMatchObject([
    { commit: { revision: 9 } },
    { gap: { missed: 3 } },
    { commit: { revision: 5 } },
  ])
  expect(addItems(cut, [commit(6)], 9).entries).toHaveLength(2)
})

test('a follower that was too slow says what it missed', () => {
  expect(feedOf({ kind: 'missed', count: 12 }).entries).toMatchObject([{ gap: { missed: 12 } }])
})

test('devices are counted while they are connected', () => {
  const opened = feedOf({ kind: 'session', device: 'd1', uid: 'alice@example.com', state: 'open' })
  expect([...opened.devices]).toEqual([['d1', 'alice@example.com']])
  expect(cutFeed(opened).devices.size).toBe(0)
  const item = { kind: 'session', device: 'd1', uid: 'alice@example.com', state: 'closed' } as const
  expect(addItems(opened, [item], 9).devices.size).toBe(0)
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
