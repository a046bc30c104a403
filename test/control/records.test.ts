import { expect, test } from 'bun:test'
import process from 'node:process'
import { findOperation, operationNames } from '../../src/control/operations'
import type { Streams } from '../../src/control/operation'
import { operator } from '../../src/control/caller'
import { perform } from '../../src/control/perform'
import { ANONYMOUS, SERVER } from '../../src/domain/access/actor'
import type { DataFolder } from '../../src/host/data-folder'
import { SatchelError } from '../../src/domain/value/error'
import { AUDIT_KEPT_MS } from '../../src/domain/store/audit'
import { codeOf } from '../auth/setup'
import { auditLine } from '../contract/audit'
import { until } from '../timing'
import { setupDataFolder } from './setup'

/** Every change of a database, in an order in which each can be made, with its upload. */
const CHANGES: readonly (readonly [name: string, input: object, upload?: string])[] = [
  ['client.rotate', {}],
  ['schema.push', {}, '{"todoItems": "@id, title"}'],
  ['import', {}, '{"data":{"rlm-public":{"todoItems":{"a":{}}}}}'],
  ['object.put', { table: 'todoItems', value: { id: 'b', realmId: 'rlm-public' } }],
  ['object.delete', { table: 'todoItems', key: 'b' }],
  ['realm.add', { realm: 'rlmA', name: 'A' }],
  ['realm.update', { realm: 'rlmA', name: 'B' }],
  ['role.put', { realm: 'rlmA', name: 'doer' }],
  ['role.remove', { realm: 'rlmA', name: 'doer' }],
  ['member.add', { realm: 'rlmA', email: 'ann@example.com', isSilent: true }],
  ['realm.remove', { realm: 'rlmA' }],
  ['table.clear', { table: 'todoItems' }],
  ['realm.clear', { realmId: 'rlm-public' }],
  ['verify', { accept: true }],
  ['db.address', { url: 'https://data.example.com' }],
  ['db.offload', { rule: 'off' }],
  ['origin.add', { origin: 'https://app.example.com' }],
  ['origin.remove', { origin: 'https://app.example.com' }],
  ['origin.change', { origin: 'https://app.example.com' }],
  ['client.create', { scopes: ['ACCESS_DB'] }],
  ['client.add', { email: 'bob@example.com', scopes: ['ACCESS_DB'] }],
  ['client.remove', { email: 'bob@example.com' }],
  ['token.issue', { subject: 'alice@example.com', scopes: ['ACCESS_DB'] }],
  ['key.rotate', {}],
  ['blob.gc', {}],
  ['blob.quota', { total: 1_000_000 }],
  ['mail.set', { sender: 'Me <me@example.com>' }, 'smtp://127.0.0.1:1'],
  ['mail.test', { to: 'alice@example.com', kind: 'otp' }],
  [
    'template.test',
    {
      subjectStr: 'A',
      bodyTxtStr: 'B',
      bodyHtmlStr: 'C',
      vars: {},
      to: 'alice@example.com',
    },
  ],
  ['mail.reset', {}],
  ['template.set', { name: 'otp-subject' }, 'Your code is {{{otp}}}'],
  ['template.reset', { name: 'otp-subject' }],
  ['template.push', { files: [] }],
  ['template.clear', {}],
  ['policy.set', { newUsers: 'webhook', hookUrl: 'https://hook.example.com' }],
  ['policy.rotate-secret', {}],
  ['provider.add', { type: 'google', clientId: 'todo' }, 'the secret'],
  ['provider.remove', { name: 'google' }],
  ['user.write', { user: '{"userId":"carl@example.com","type":"prod"}', isNew: true }],
  ['user.write-all', { users: { userId: 'dora@example.com', type: 'prod' } }],
  ['user.delete', { user: 'carl@example.com' }],
  ['db.delete', {}],
  ['db.undelete', {}],
]

const SENDING: ReadonlySet<string> = new Set(['mail.test', 'template.test'])

/** These need an import under way, a mail that waits, the key of a member or a client that asks. They record as their likes above. */
const LEFT_OUT = [
  'job.cancel',
  'mail.retry',
  'mail.delete',
  'member.resend',
  'member.update',
  'member.remove',
  'client.replace',
  'client.revoke',
]

test('each change of a database has one line in that database', async () => {
  await using folder = await setupDataFolder()
  await folder.hosts.create('main')
  await perform(folder, findOperation('client.create')!, ALL, {})
  for (const [name, input, upload] of CHANGES) {
    const operation = findOperation(name)!
    const streams = upload === undefined ? {} : { upload: new Blob([upload]).stream() }
    const before = await linesOf(folder)
    const values = operation.read({ database: 'main', ...input })
    // No mail server listens.
    const failure = SENDING.has(name) ? 'MAIL_FAILED' : undefined
    const work = () => perform(folder, operation, values, streams)
    if (failure === undefined) await work()
    else expect(await codeOf(work)).toBe(failure)
    const [line, ...others] = (await linesOf(folder)).slice(before.length)
    expect([name, line?.operation, others]).toEqual([name, name, []])
    expect([name, line?.result]).toEqual([name, failure ?? 'done'])
  }
})

test('a line about work in many units says that it has begun, until it has ended or failed', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const lastLine = async () => (await linesOf(folder)).at(-1)
  const upload = new ReadableStream<Uint8Array>({
    async start(controller) {
      await until(async () => (await lastLine())?.operation === 'import')
      expect(await lastLine()).toMatchObject({ result: 'begun' })
      controller.enqueue(Buffer.from('no import'))
      controller.close()
    },
  })
  const work = () => run(folder, 'import', { database: 'main' }, { upload })
  expect(await codeOf(work)).toBe('INVALID_REQUEST')
  expect(await lastLine()).toMatchObject({ operation: 'import', result: 'INVALID_REQUEST' })
})

test('each change of the server has a line in its file, with its result', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  await run(folder, 'backup', { database: 'main' })
  expect(await codeOf(() => run(folder, 'backup.restore', { name: 'other' }))).toBe('DAMAGED')
  const kept = { backup: '2030-01-31T02-30-00Z' }
  expect(await codeOf(() => run(folder, 'backup.make', {}))).toBe('CONFLICT')
  expect(await codeOf(() => run(folder, 'backup.read', kept))).toBe('CONFLICT')
  const other = { ...kept, name: 'other' }
  expect(await codeOf(() => run(folder, 'backup.restore-kept', other))).toBe('CONFLICT')
  expect(await codeOf(() => run(folder, 'db.adopt', { name: 'main' }))).toBe('CONFLICT')
  await run(folder, 'db.compact', { name: 'main' })
  await run(folder, 'db.delete', { database: 'main', hard: true })
  expect(await codeOf(() => run(folder, 'session.link', {}))).toBe('CONFLICT')
  expect(await codeOf(() => run(folder, 'session.revoke', {}))).toBe('CONFLICT')
  const lines = folder.audit.list(START, 100)
  expect(lines.map(({ operation, result }) => `${operation} ${result}`)).toEqual([
    'db.create done',
    'backup done',
    'backup.restore DAMAGED',
    'backup.make CONFLICT',
    'backup.read CONFLICT',
    'backup.restore-kept CONFLICT',
    'db.adopt CONFLICT',
    'db.compact done',
    'db.delete done',
    'session.link CONFLICT',
    'session.revoke CONFLICT',
  ])
  const own = operationNames().filter((name) => {
    const { effect, recordedIn } = findOperation(name)!
    return effect !== 'read' && recordedIn === 'server'
  })
  expect(new Set(lines.map(({ operation }) => operation))).toEqual(new Set(own))
})

test('a change of the server is made on a full disk, without a line', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const fail = (code: 'STORAGE_FULL' | 'READ_ONLY') => ({
    ...folder,
    audit: {
      ...folder.audit,
      put() {
        throw new SatchelError(code, 'expected')
      },
    },
  })
  const remove = (on: DataFolder) => run(on, 'db.delete', { database: 'main', hard: true })
  expect(await codeOf(() => remove(fail('READ_ONLY')))).toBe('READ_ONLY')
  await remove(fail('STORAGE_FULL'))
  expect(await folder.hosts.list()).toEqual([])
})

test('a line about a command names the user of the operating system', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const [line] = await linesOf(folder)
  const nobody = { client: null, user: null, address: null }
  expect(line).toMatchObject({ door: 'command', uid: process.getuid?.(), ...nobody })
})

test('a line about a change that fails in its unit has the code of the error', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const input = { database: 'main', user: 'nobody@example.com' }
  expect(await codeOf(() => run(folder, 'user.delete', input))).toBe('UNKNOWN_USER')
  expect((await linesOf(folder)).at(-1)).toMatchObject({
    operation: 'user.delete',
    result: 'UNKNOWN_USER',
  })
})

test('an operation that only asks, or is refused, has no line', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const before = await linesOf(folder)
  await run(folder, 'db.offload', { database: 'main' })
  const alice = { ...ANONYMOUS, subject: 'alice' }
  const caller = { ...operator(null), actor: alice, isOperator: false }
  const operation = findOperation('origin.add')!
  const input = operation.read({ database: 'main', origin: 'https://app.example.com' })
  expect(await codeOf(() => perform(folder, operation, input, {}, caller))).toBe('NOT_AUTHORIZED')
  expect(await linesOf(folder)).toEqual(before)
})

test('users who delete themselves are in no line', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  await run(folder, 'user.write-all', {
    database: 'main',
    users: { userId: 'alice@example.com', type: 'prod' },
  })
  const alice = { ...SERVER, subject: 'alice@example.com' }
  const caller = { ...operator(null), actor: alice, isOperator: false, address: '192.0.2.1' }
  const operation = findOperation('user.delete')!
  const input = operation.read({ database: 'main', user: 'alice@example.com' })
  await perform(folder, operation, input, {}, caller)
  const line = (await linesOf(folder)).at(-1)
  expect(line).toMatchObject({ operation: 'user.delete', result: 'done', address: null })
  expect(line?.user).toMatch(/^[\w-]{16}$/)
})

const START = { at: 0, seq: 0 }

async function run(folder: DataFolder, name: string, input: object, streams: Streams = {}) {
  const operation = findOperation(name)!
  return await perform(folder, operation, operation.read(input), streams)
}

async function linesOf(folder: DataFolder) {
  const { database } = await folder.hosts.open('main')
  return await database.read((tx) => tx.audit.list(START, 1_000))
}

const ALL = { database: 'main', scopes: [...SERVER.scopes], name: null, email: null }

test('no change of a database is missing above', () => {
  const changes = operationNames().filter((name) => {
    const { effect, input } = findOperation(name)!
    return effect !== 'read' && Object.hasOwn(input, 'database') && !/^(test\.|backup)/.test(name)
  })
  const known = [...CHANGES.map(([name]) => name), ...LEFT_OUT]
  expect(changes.filter((name) => !known.includes(name))).toEqual([])
})

test('the file of the server keeps its lines for a year', async () => {
  await using folder = await setupDataFolder()
  const line = auditLine('old')
  folder.audit.put(line)
  folder.audit.put({ ...line, id: 'kept', at: line.at + AUDIT_KEPT_MS })
  expect(folder.audit.list(START, 10).map(({ id }) => id)).toEqual(['old', 'kept'])
  folder.audit.put({ ...line, id: 'new', at: line.at + AUDIT_KEPT_MS + 1 })
  expect(folder.audit.list(START, 10).map(({ id }) => id)).toEqual(['kept', 'new'])
})

test('a deleted user becomes a random id in the file of the server, too', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const users = { userId: 'alice@example.com', type: 'prod' }
  await run(folder, 'user.write-all', { database: 'main', users })
  folder.audit.put(auditLine('a', { user: 'alice@example.com', address: '192.0.2.1' }))
  await run(folder, 'user.delete', { database: 'main', user: 'alice@example.com' })
  const line = folder.audit.list(START, 10).find(({ id }) => id === 'a')
  expect(line).toMatchObject({ user: expect.stringMatching(/^[\w-]{16}$/), address: null })
})

test('lines are listed page by page, the oldest or the newest first, of a database and of the server', async () => {
  await using folder = await setupDataFolder()
  await run(folder, 'db.create', { name: 'main' })
  const { database } = await folder.hosts.open('main')
  const lines = ['a', 'b', 'c', 'd', 'e'].map((user) => auditLine(user, { user }))
  await database.write((tx) => {
    for (const line of lines) tx.audit.put(line)
  })
  for (const line of lines) folder.audit.put(line)
  for (const name of ['main', null]) {
    const list = async (input: object) => {
      const pages: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const asked = { database: name, since: 0, limit: 2, cursor, ...input }
        const page = (await run(folder, 'audit.list', asked)) as Page
        pages.push(page.lines.map(({ user }) => user ?? '').join(''))
        cursor = page.cursor
      }
      return `${pages.join('')} ${pages.length}`
    }
    expect(await list({})).toBe('abcde 3')
    expect(await list({ newestFirst: true })).toBe('edcba 3')
    expect(await codeOf(() => list({ cursor: '1' }))).toBe('INVALID_REQUEST')
  }
})

interface Page {
  readonly lines: readonly { readonly user: string | null }[]
  readonly cursor: string | null
}
