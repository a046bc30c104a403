import { expect, test } from 'bun:test'
import { findOperation, operationNames } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { SERVER } from '../../src/domain/access/actor'
import type { SatchelError } from '../../src/domain/value/error'
import { setupDataFolder } from './setup'

/** Every change of a database, in an order in which each can be made, with its upload. */
const CHANGES: readonly (readonly [name: string, input: object, upload?: string])[] = [
  ['client.rotate', {}],
  ['schema.push', {}, '{"todoItems": "@id, title"}'],
  ['import', {}, '{"data":{"rlm-public":{"todoItems":{"a":{}}}}}'],
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

/** These need an import under way or a client that asks. They record as their likes above. */
const LEFT_OUT = ['job.cancel', 'client.replace', 'client.revoke']

test('each change of a database is recorded in a unit of its own database', async () => {
  await using folder = await setupDataFolder()
  await folder.hosts.create('main')
  const unrecorded: string[] = []
  await perform(folder, findOperation('client.create')!, ALL, {})
  for (const [name, input, upload] of CHANGES) {
    const operation = findOperation(name)!
    const values = operation.read({ database: 'main', ...input })
    let isRecorded = false
    const caller = { actor: SERVER, isOperator: true, record: () => (isRecorded = true) }
    const streams = upload === undefined ? {} : { upload: new Blob([upload]).stream() }
    await perform(folder, operation, values, streams, caller).catch((error: unknown) => {
      // No mail server listens.
      expect([name, (error as SatchelError).code]).toEqual(['mail.test', 'MAIL_FAILED'])
    })
    if (!isRecorded) unrecorded.push(name)
  }
  expect(unrecorded).toEqual([])
})

const ALL = { database: 'main', scopes: [...SERVER.scopes], name: null, email: null }

test('no change of a database is missing above', () => {
  const changes = operationNames().filter((name) => {
    const { effect, input } = findOperation(name)!
    return effect !== 'read' && Object.hasOwn(input, 'database') && !/^(test\.|backup)/.test(name)
  })
  const known = [...CHANGES.map(([name]) => name), ...LEFT_OUT]
  expect(changes.filter((name) => !known.includes(name))).toEqual([])
})
