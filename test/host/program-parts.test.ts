import { expect, test } from 'bun:test'
import { createApplication, createMode, createPrinter } from '../../src/application'
import { readConfig } from '../../src/config/config'
import { createDatabase } from '../../src/control/databases'
import { findOperation } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { takeDataFolder } from '../../src/host/data-folder'
import { listen } from '../../src/listen'
import { openLogs } from '../../src/log/log'
import { createLive } from '../../src/sync/live'
import { createTestClock, asClient } from '../auth/setup'
import { callerOf } from '../http/setup'
import { collectLines, PLAIN_IMPORT, temporaryFolder } from '../setup'
import { setupHosts } from './setup'

const OTHERS = ['https://a.example', 'https://b.example']

test('units name the part that the host was opened at', async () => {
  await using server = setupHosts()
  const { all, hosts, store } = server
  await hosts.create('main')
  const heard: (string | null)[] = []
  const raw = await store.open('main')
  using _ = stopping(
    raw.onCommit(({ units }) => heard.push(...units.map(({ programPart }) => programPart))),
  )
  for (const [position, part] of (['rest', 'command'] as const).entries()) {
    const { database, through } = await all.at(part).open('main')
    const id = OTHERS[position] ?? ''
    await database.write((tx) => tx.origins.put({ id, created: 0 }))
    await through('sync').write((tx) => tx.origins.remove(id))
  }
  expect(heard).toEqual(['rest', 'sync', 'command', 'sync'])
})

test('units of logins, requests, commands and imports are all named, those of a user with the user and the device', async () => {
  await using undo = new AsyncDisposableStack()
  const clock = createTestClock()
  const { path: data } = undo.use(temporaryFolder())
  const config = readConfig({ environment: {}, flags: { data, port: 0, durability: 'relaxed' } })
  const logs = openLogs({ clock, level: 'error', format: 'json', sink: collectLines() })
  const mode = createMode(config)
  const printer = createPrinter(logs, mode)
  const folder = undo.use((await takeDataFolder(config, clock, printer))!)
  const live = undo.use(createLive({ hosts: folder.hostsAt('sync'), clock, report() {} }))
  const parts = {
    mode,
    figures: { count: () => undefined },
    printer,
    clock,
    logs,
    answerTest: undefined,
    answerAdmin: undefined,
  }
  const application = createApplication(folder, live, config, parts)
  const { clientId, clientSecret } = await createDatabase(folder, 'main')
  const heard = new Set<string | null>()
  const byAlice = new Map<string | null, boolean>()
  const { database } = await folder.hosts.open('main')
  undo.defer(
    database.onCommit(({ units }) => {
      for (const { programPart, subject, client } of units) {
        heard.add(programPart)
        if (subject === 'alice') byAlice.set(programPart, client !== null)
      }
    }),
  )
  const listener = await listen(config, application)
  undo.defer(() => listener.stop())
  listener.complete()
  await application.open()

  const anyone = callerOf(`${listener.url}/main`)
  const { body } = await anyone.post('/token', {
    ...asClient({ clientId, clientSecret }),
    scopes: ['ACCESS_DB'],
    claims: { sub: 'alice', email: 'alice@example.com', name: 'Alice' },
  })
  const { accessToken } = body as { accessToken: string }
  const alice = callerOf(`${listener.url}/main`, accessToken)
  await alice.post('/my/realms', [{ realmId: 'rlmA', name: 'A' }])
  const insert = { type: 'insert', txid: 't', keys: ['itm1'], values: [{ id: 'itm1' }] }
  const pushed = await alice.post('/sync', {
    v: 3,
    clientIdentity: 'one',
    schema: { items: { markedForSync: true, initiallySynced: true } },
    changes: [{ table: 'items', muts: [insert] }],
  })
  expect(pushed).toMatchObject({ status: 200 })
  const run = async (name: string, input: object, upload?: ReadableStream<Uint8Array>) => {
    const operation = findOperation(name)!
    const streams = upload === undefined ? {} : { upload }
    await perform(folder, operation, operation.read(input), streams)
  }
  await run('origin.add', { database: 'main', origin: OTHERS[0], force: false })
  const file = new Blob([JSON.stringify({ data: { bob: { items: { one: {} } } } })])
  await run('import', PLAIN_IMPORT, file.stream())
  expect(heard).toEqual(new Set(['auth', 'rest', 'sync', 'command', 'import']))
  expect(Object.fromEntries(byAlice)).toEqual({ rest: false, sync: true })
})

function stopping(stop: () => void): Disposable {
  return { [Symbol.dispose]: stop }
}
