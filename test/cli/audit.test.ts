import { describe, expect, test } from 'bun:test'
import process from 'node:process'
import { setupServer, type TestServer } from '../setup'
import { runJson, runSatchel } from './setup'

interface Line {
  readonly at: string
  readonly database: string | null
  readonly operation: string
  readonly user: string | null
}

describe('satchel audit', () => {
  test('names the callers over HTTP and of commands, in the order of time', async () => {
    await using server = await setupServer()
    await undelete(server, 'alice')
    server.clock.advance(1_000)
    await runSatchel(['db', 'create', 'other', '--data', server.folder])
    expect(await runJson<unknown>(['audit', '--data', server.folder])).toEqual({
      data: [
        {
          at: '2030-01-01T12:00:00.000Z',
          database: 'main',
          operation: 'db.undelete',
          result: 'done',
          door: 'rest',
          uid: null,
          client: server.client.clientId,
          user: 'alice',
          address: '127.0.0.1',
          session: null,
        },
        ...[null, 'other'].map((database) => ({
          at: '2030-01-01T12:00:01.000Z',
          database,
          operation: 'db.create',
          result: 'done',
          door: 'command',
          uid: process.getuid?.(),
          client: null,
          user: null,
          address: null,
          session: null,
        })),
      ],
    })
  })

  test('shows one database from a time', async () => {
    await using server = await setupServer()
    await undelete(server, 'alice')
    server.clock.advance(60_000)
    await undelete(server, 'bob')
    await runSatchel(['db', 'create', 'other', '--data', server.folder])
    const args = ['audit', '--data', server.folder, '--db', 'main', '--since', '2030-01-01T12:01Z']
    const { data } = await runJson<{ data: Line[] }>(args)
    expect(data.map(({ user }) => user)).toEqual(['bob'])
  })

  test('escapes control and bidi characters', async () => {
    await using server = await setupServer()
    await undelete(server, 'eve\u202egpj')
    const { stdout } = await runSatchel(['audit', '--data', server.folder])
    expect(stdout).toContain('eve\\u202egpj')
    expect(stdout).not.toContain('\u202e')
  })

  test('says that there is nothing, and refuses what is no time', async () => {
    await using server = await setupServer()
    const args = ['audit', '--data', server.folder]
    expect((await runSatchel(args)).stdout).toBe('There are no operations\n')
    expect((await runSatchel([...args, '--since', 'yesterday'])).exitCode).toBe(2)
  })
})

async function undelete(server: TestServer, sub: string): Promise<void> {
  const token = await server.token({ sub, scopes: ['MANAGE_DB'] })
  const answer = await fetch(`${server.main}/undelete-db`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect(answer.status).toBe(200)
}
