import { postJson } from '../setup'
import { describe, expect, test } from 'bun:test'
import { MINUTE } from '../../../src/domain/value/time'
import { until } from '../../timing'
import { PLAIN_IMPORT } from '../../setup'
import { type AdminServer, type Browser, type Event, eventsOf, refusal, setupAdmin } from './setup'

/** An answer that goes on, with the events that have arrived. */
interface Follower extends Disposable {
  readonly status: number
  readonly events: readonly Event[]
  isOver(): boolean
}

/** A server whose database has a table. */
async function setup(): Promise<AdminServer> {
  const server = await setupAdmin()
  const upload = new Blob([JSON.stringify({ items: 'id' })]).stream()
  await server.commands.run('schema.push', { database: 'main', wait: true }, { upload })
  return server
}

const FOLLOW = { database: 'main' }

async function follow(browser: Browser): Promise<Follower> {
  const leaving = new AbortController()
  const { signal } = leaving
  const answer = await browser.send('POST', '/api/live.follow', { body: FOLLOW, signal })
  const events: Event[] = []
  let isOver = false
  async function read(): Promise<void> {
    let text = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const lines = `${text}${chunk}`.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) events.push(JSON.parse(line) as Event)
    }
  }
  if (answer.ok) {
    const over = () => void (isOver = true)
    read().then(over, over)
  }
  return {
    status: answer.status,
    events,
    isOver: () => isOver,
    [Symbol.dispose]: () => leaving.abort(),
  }
}

async function write(server: AdminServer, key: string): Promise<void> {
  const answer = await postJson(
    `${server.main}/all/items`,
    { id: key, realmId: 'rlm-public' },
    { authorization: `Bearer ${await server.token()}` },
  )
  if (!answer.ok) throw new Error(`Not written: ${answer.status} ${await answer.text()}`)
}

const isCommit = ({ item }: Event) => (item as { kind?: string } | undefined)?.kind === 'commit'

describe('an answer that follows what happens', () => {
  test('sends each row as it comes', async () => {
    await using server = await setup()
    using follower = await follow(await server.logIn())
    await write(server, 'one')
    await until(() => follower.events.some(isCommit))
    expect(follower.isOver()).toBe(false)
  })

  test('ends when its login is revoked, and others go on', async () => {
    await using server = await setup()
    using one = await follow(await server.logIn())
    using other = await follow(await server.logIn())
    const [, first] = await server.commands.run('session.list', {})
    await server.commands.run('session.revoke', { id: first!.id })
    await until(() => one.isOver())
    expect(one.events.at(-1)).toMatchObject({ error: { status: 401, code: 'SESSION_ENDED' } })
    await write(server, 'one')
    await until(() => other.events.some(isCommit))
    expect(other.isOver()).toBe(false)
    expect(one.events.some(isCommit)).toBe(false)
  })

  test('ends when its login is idle: following is no use of it', async () => {
    await using server = await setup()
    using follower = await follow(await server.logIn())
    for (let passed = 0; passed < 30; passed += 10) {
      await write(server, `at ${passed}`)
      server.clock.advance(10 * MINUTE)
    }
    await until(() => follower.isOver())
    expect(follower.events.at(-1)).toMatchObject({ error: { code: 'SESSION_ENDED' } })
  })

  test('ends when its page logs out', async () => {
    await using server = await setup()
    const browser = await server.logIn()
    using follower = await follow(browser)
    const answer = await browser.send('DELETE', '/session')
    expect(answer.status).toBe(204)
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0')
    await until(() => follower.isOver())
  })

  test('does not hold up a server that stops', async () => {
    await using server = await setup()
    using follower = await follow(await server.logIn())
    await server.stop()
    await until(() => follower.isOver())
    expect(follower.events.at(-1)).toMatchObject({ error: { status: 503, code: 'BUSY' } })
    expect(server.lines.join('\n')).not.toContain('were aborted')
  })

  test('keeps no large input', async () => {
    await using server = await setup()
    const body = { ...FOLLOW, junk: 'x'.repeat(8 * 1024) }
    const answer = await (await server.logIn()).send('POST', '/api/live.follow', { body })
    expect(await refusal(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })

  test('is one of twenty at most, and gives its place back', async () => {
    await using server = await setup()
    const browsers = await Promise.all(Array.from({ length: 20 }, () => server.logIn()))
    using followers = new DisposableStack()
    for (const browser of browsers) followers.use(await follow(browser))
    const more = () => browsers[0]!.send('POST', '/api/live.follow', { body: FOLLOW })
    const refused = await more()
    expect(await refusal(refused)).toEqual([429, 'TOO_MANY_REQUESTS'])
    expect(await browsers[0]!.result('db.list')).toHaveLength(1)
    const [left] = await server.commands.run('session.list', {})
    await server.commands.run('session.revoke', { id: left!.id })
    using next = await follow(browsers[0]!)
    expect(next.status).toBe(200)
  })

  test('gives its place back when its reader leaves', async () => {
    await using server = await setup()
    const browser = await server.logIn()
    const statuses: number[] = []
    for (let round = 0; round < 25; round += 1) {
      using follower = await follow(browser)
      statuses.push(follower.status)
    }
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 200))
    await until(async () => {
      using follower = await follow(browser)
      return follower.status === 200
    })
  })

  test('holds up no writer when its reader is slow', async () => {
    await using server = await setup()
    const browser = await server.logIn()
    const leaving = new AbortController()
    const { signal } = leaving
    const answer = await browser.send('POST', '/api/live.follow', { body: FOLLOW, signal })
    expect(answer.status).toBe(200)
    // Nothing is read of the answer.
    for (let count = 0; count < 300; count += 1) await write(server, `${count} ${'x'.repeat(900)}`)
    leaving.abort()
  })
})

describe('an upload', () => {
  /** Begins to send a file, and goes on with nothing. */
  function send(browser: Browser, operation: string, input: object): Promise<Response> {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from('{"data":')),
    })
    const query = encodeURIComponent(JSON.stringify(input))
    return browser.send('POST', `/upload/${operation}?input=${query}`, { body })
  }

  async function lastLine({ commands }: AdminServer, database: string | null) {
    const { lines } = await commands.run('audit.list', { database })
    return lines.findLast(({ door }) => door === 'page')
  }

  test.each<[string, string | null, object]>([
    ['import', 'main', { ...PLAIN_IMPORT }],
    ['backup.restore', null, { name: 'other', revokeLogins: false, size: null }],
  ])('of %s ends with its login, and nothing of it is done', async (operation, database, input) => {
    await using server = await setup()
    const browser = await server.logIn()
    const sent = send(browser, operation, input)
    await until(async () => (await lastLine(server, database))?.result === 'begun')
    await server.commands.run('session.revoke', { id: null })
    const events = await eventsOf(await sent)
    expect(events.at(-1)).toMatchObject({ error: { status: 401, code: 'SESSION_ENDED' } })
    await until(async () => (await lastLine(server, database))?.result !== 'begun')
    expect(await lastLine(server, database)).toMatchObject({ operation, result: 'SESSION_ENDED' })
    expect(await server.commands.run('db.list', {})).toHaveLength(1)
  })

  test('that stalls ends', async () => {
    await using server = await setupAdmin({ maxSilence: 1 })
    const answer = await send(await server.logIn(), 'import', { ...PLAIN_IMPORT })
    const events = await eventsOf(answer)
    expect(events.at(-1)).toMatchObject({ error: { status: 408, code: 'TOO_SLOW' } })
  })
})
