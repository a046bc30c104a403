import { describe, expect, test } from 'bun:test'
import process from 'node:process'
import { auditLine } from '../contract/audit'
import { setupDataFolder } from '../control/setup'
import { setupServer, temporaryFolder, type TestServer } from '../setup'
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
        ...[null, 'main'].map((database) => ({
          at: '2030-01-01T12:00:00.000Z',
          database,
          operation: 'db.create',
          result: 'done',
          door: 'job',
          uid: null,
          client: null,
          user: null,
          address: null,
          session: null,
        })),
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

  test('shows thousands of lines in the order of time, some at once', async () => {
    using folder = temporaryFolder()
    const start = Date.parse('2029-12-31T12:00:00Z')
    const lines = 3_500
    {
      await using made = await setupDataFolder(folder.path)
      for (const name of ['one', 'two']) await made.hosts.create(name)
      for (const [n, name] of ['one', 'two'].entries()) {
        const { database } = await made.hosts.open(name)
        await database.write((tx) => {
          for (let at = n; at < lines; at += 2) {
            tx.audit.put(auditLine(`${name}${at}`, { at: start + at, address: String(at) }))
          }
        })
      }
    }
    const output: Buffer[] = []
    const args = ['audit', '--data', folder.path]
    const { stdout } = await runSatchel([...args, '--json'], { output })
    const { data } = JSON.parse(stdout) as { data: { address: string; database: string }[] }
    expect(data.map(({ address }) => Number(address))).toEqual([...Array(lines).keys()])
    expect(data.slice(0, 3).map(({ database }) => database)).toEqual(['one', 'two', 'one'])
    expect(output.length).toBeGreaterThan(3)
    const shown = (await runSatchel(args)).stdout.trimEnd().split('\n')
    expect(shown.filter((line) => line.startsWith('2029-12-31'))).toHaveLength(lines)
    expect(shown.filter((line) => line.startsWith('TIME'))).toHaveLength(4)
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
    const empty = await runSatchel([...args, '--since', '2031-01-01'])
    expect(empty.stdout).toBe('There are no operations\n')
    const asJson = await runSatchel([...args, '--since', '2031-01-01', '--json'])
    expect(asJson.stdout).toBe('{"data":[]}\n')
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
