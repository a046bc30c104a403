import { expect, test } from 'bun:test'
import { createLive } from '../../src/sync/live'
import type { SocketOwner } from '../../src/sync/socket'
import { setupHosts } from '../host/setup'
import { until } from '../timing'
import { actorFor, administrator } from '../access/setup'
import { ALICE, type Message, pulled } from './setup'

function listenTo(owner: SocketOwner): readonly Message[] {
  const messages: Message[] = []
  owner.opened({
    send(text) {
      messages.push(JSON.parse(text) as Message)
      return 1
    },
    close() {},
    terminate() {},
  })
  return messages
}

const ONE = { identity: 'one', knowsBlobRefs: true }
const NETWORK = '192.0.2.1'
const READY = JSON.stringify({ type: 'ready', rev: '["unknown","1"]', realmSetHash: '' })

test('a socket keeps no database open, and hears of it again when it is opened', async () => {
  await using server = setupHosts({ kept: 0 })
  const { hosts } = server
  const reports: unknown[] = []
  using live = createLive({
    hosts,
    clock: { now: () => 0 },
    report: (...report) => reports.push(report),
  })
  const owner = live.connect(await hosts.create('main'), ONE, actorFor(ALICE, 'my'), NETWORK)
  const messages = listenTo(owner)
  await until(() => hosts.findOpen('main') === undefined)
  owner.received(READY)
  await until(() => messages.some(({ type }) => type === 'realms-changed'))
  await until(() => hosts.findOpen('main') === undefined)
  const { database } = await hosts.open('main')
  const { name } = database
  await database.write((tx) => tx.realms.ensure(ALICE.id))
  expect({ name, reports }).toEqual({ name: 'main', reports: [] })
  owner.closed()
})

test('the sockets of a database that is removed are told, those of the next one are others', async () => {
  await using server = setupHosts()
  const { hosts } = server
  using live = createLive({ hosts, clock: { now: () => 0 }, report: () => undefined })
  const connect = async () => {
    const host = hosts.findOpen('main') ?? (await hosts.create('main'))
    return listenTo(live.connect(host, ONE, actorFor(ALICE, 'my'), NETWORK))
  }
  const before = await connect()
  await hosts.remove('main')
  expect(before).toMatchObject([{ type: 'error' }])
  const after = await connect()
  await hosts.remove('main')
  expect(before).toHaveLength(1)
  expect(after).toMatchObject([{ type: 'error' }])
})

test('changes are counted from a revision of before a restart', async () => {
  await using server = setupHosts({ kept: 0 })
  const { hosts } = server
  using live = createLive({ hosts, clock: { now: () => 0 }, report: () => undefined })
  const realm = { realmId: 'rlmA', name: 'before', owner: ALICE.id }
  const first = await hosts.create('main')
  await administrator(first.database).put('realms', realm)
  const { rev, realmSetHash } = await pulled(first.database, ALICE)
  await until(() => hosts.findOpen('main') === undefined)
  const second = await hosts.open('main')
  await administrator(second.database).put('realms', { ...realm, name: 'after' })
  const { rev: newRev } = await pulled(second.database, ALICE)
  const owner = live.connect(second, ONE, actorFor(ALICE, 'my'), NETWORK)
  const messages = listenTo(owner)
  owner.received(JSON.stringify({ type: 'ready', rev, realmSetHash }))
  await until(() => messages.length > 0)
  expect(messages[0]).toMatchObject({ type: 'changes', baseRev: rev, newRev, realmSetHash })
  expect(messages[0]?.changes?.[0]?.muts).toMatchObject([{ keys: ['rlmA'] }])
  expect(JSON.parse(newRev)[0]).not.toBe(JSON.parse(rev)[0])
})
