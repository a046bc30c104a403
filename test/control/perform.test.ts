import { describe, expect, test } from 'bun:test'
import { type OperationName, type InputOf, getOperation } from '../../src/control/operations'
import { type Caller, operator } from '../../src/control/caller'
import type { Order } from '../../src/control/operation'
import { answerPerforming, type Asking, perform } from '../../src/control/perform'
import { SatchelError } from '../../src/domain/value/error'
import { ANONYMOUS, SERVER } from '../../src/domain/access/actor'
import { codeOf, refusalOf } from '../auth/setup'
import type { DataFolder } from '../../src/host/data-folder'
import { callerWith, setupDataFolder } from './setup'

async function setup() {
  const folder = await setupDataFolder()
  const run = <Name extends OperationName>(name: Name, input: InputOf<Name>, caller?: Caller) => {
    const operation = getOperation(name)
    return perform(folder, operation, operation.read(input), {}, caller)
  }
  await run('db.create', { name: 'main' })
  return { folder, run, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

const ORIGIN = { database: 'main', origin: 'https://app.example.com', force: false }

describe('the caller of an operation', () => {
  test('needs its scopes', async () => {
    await using server = await setup()
    await server.run('origin.add', ORIGIN, callerWith('MANAGE_DB'))
    const refused = await refusalOf(() => server.run('origin.add', ORIGIN, callerWith('ACCESS_DB')))
    expect(refused).toMatchObject({ code: 'NOT_AUTHORIZED', reason: 'scope MANAGE_DB' })
  })

  test('owns the data folder where that is needed, whatever scopes it has', async () => {
    await using server = await setup()
    const all = callerWith(...SERVER.scopes)
    expect(await codeOf(() => server.run('db.create', { name: 'other' }, all))).toBe(
      'NOT_AUTHORIZED',
    )
    expect(await server.folder.hosts.list()).toEqual(['main'])
  })

  test('is refused without a token', async () => {
    await using server = await setup()
    const nobody = { ...operator(null), actor: ANONYMOUS, isOperator: false }
    expect(await codeOf(() => server.run('origin.add', ORIGIN, nobody))).toBe('INVALID_TOKEN')
  })

  test('gets no secret of a client that may do more', async () => {
    await using server = await setup()
    const [client] = await server.run('client.list', { database: 'main' })
    const input = { database: 'main', id: client!.id, days: null }
    for (const id of [client!.id, null]) {
      const rotate = () => server.run('client.rotate', { ...input, id }, callerWith('MANAGE_DB'))
      expect(await codeOf(rotate)).toBe('NOT_AUTHORIZED')
    }
    const all = callerWith(...SERVER.scopes)
    expect(await server.run('client.rotate', input, all)).toMatchObject({ oldClientId: client!.id })
  })

  test('does not choose who hears the codes of all users, or says who they are', async () => {
    await using server = await setup()
    const mail = () => server.run('mail.set', { database: 'main' }, callerWith(...SERVER.scopes))
    expect(await codeOf(mail)).toBe('NOT_AUTHORIZED')
    const input = { database: 'main', type: 'google', clientId: 'x' }
    const add = () => server.run('provider.add', input, callerWith('ACCESS_DB', 'MANAGE_DB'))
    expect(await codeOf(add)).toBe('NOT_AUTHORIZED')
  })

  test('makes no client with scopes of others', async () => {
    await using server = await setup()
    const input = { database: 'main', scopes: ['DELETE_DB'], name: null, email: null }
    const create = () => server.run('client.create', input, callerWith('MANAGE_DB'))
    expect(await codeOf(create)).toBe('INVALID_SCOPE')
  })
})

test('the answer holds JSON alone where files are not framed', async () => {
  await using server = await setup()
  const operation = getOperation('export')
  const input = { database: 'main', format: 'json', table: null, realm: null }
  const { signal } = new AbortController()
  const answer = answerPerforming(
    server.folder,
    {
      ...operation,
      run: (folder, given, order) => operation.run(folder, operation.read(given), order),
    },
    input,
    { body: null, signal },
  )
  const lines = (await answer.text()).trimEnd().split('\n')
  const events = lines.map((line): unknown => JSON.parse(line))
  expect(events.at(-1)).toMatchObject({ result: { objects: 0 } })
})

describe('an operation with many rows', () => {
  test('sends them before its result', async () => {
    await using server = await setup()
    const answer = emitting(server.folder, ['one', 'two'])
    const lines = (await answer.text()).trimEnd().split('\n')
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      { item: 'one' },
      { item: 'two' },
      { result: 'done' },
    ])
  })

  test('waits for a slow reader', async () => {
    await using server = await setup()
    const taken: unknown[] = []
    const answer = emitting(server.folder, ['one', 'two', 'three'], (row) => taken.push(row))
    const reader = answer.body!.getReader()
    await reader.read()
    await Bun.sleep(20)
    expect(taken.length).toBeLessThan(3)
    while (!(await reader.read()).done);
    expect(taken).toEqual(['one', 'two', 'three'])
  })
})

test('an upload ends with an operation that does not read it', async () => {
  await using server = await setup()
  const cancelled = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: () => cancelled.resolve(),
  })
  const ended = new AbortController().signal
  const answer = emitting(server.folder, [], undefined, { body, signal: ended, ended })
  expect(await answer.text()).toContain('done')
  await cancelled.promise
})

describe('an answer whose caller may hear no more', () => {
  const gone = new SatchelError('SESSION_ENDED', 'The login has ended')
  const last = { error: { status: 401, code: gone.code, message: gone.message } }

  test('ends with the reason, also while the operation waits for a slow reader', async () => {
    await using server = await setup()
    const ending = new AbortController()
    const finished = Promise.withResolvers<void>()
    const asking = {
      body: null,
      signal: new AbortController().signal,
      ended: ending.signal,
      finished: finished.resolve,
      statusOf: () => 401,
    }
    const answer = emitting(server.folder, ['one', 'two', 'three', 'four'], () => {}, asking)
    await Bun.sleep(10)
    ending.abort(gone)
    // The operation ends, although nothing was read.
    await finished.promise
    const lines = (await answer.text()).trimEnd().split('\n')
    expect(lines.map((line): unknown => JSON.parse(line)).at(-1)).toEqual(last)
    expect(lines.length).toBeLessThan(4)
  })

  test('has the reason alone when that was so before', async () => {
    await using server = await setup()
    const [ended, { signal }] = [AbortSignal.abort(gone), new AbortController()]
    const asking = { body: null, signal, ended, statusOf: () => 401 }
    const answer = emitting(server.folder, ['one'], () => {}, asking)
    expect(JSON.parse(await answer.text())).toEqual(last)
  })
})

function emitting(
  folder: DataFolder,
  rows: readonly string[],
  taken: (row: string) => void = () => {},
  asking: Asking = { body: null, signal: new AbortController().signal },
): Response {
  const operation = {
    ...getOperation('hello'),
    async run(_folder: DataFolder, _input: object, { emit }: Order) {
      for (const row of rows) {
        await emit?.(row)
        taken(row)
      }
      return 'done'
    },
  }
  return answerPerforming(folder, operation, {}, asking)
}
