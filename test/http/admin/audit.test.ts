import { describe, expect, test } from 'bun:test'
import { type AdminServer, type Browser, setupAdmin } from './setup'

/** A change of each effect, with a text of it that no line may hold. */
const CHANGES = [
  ['origin.add', 'write', { origin: 'https://hidden.example', force: false }, 'hidden'],
  ['client.create', 'secret', { scopes: ['ACCESS_DB'], name: 'hidden' }, 'hidden'],
  ['token.issue', 'secret', { subject: 'hidden@example.com', scopes: [] }, 'hidden'],
  ['template.clear', 'destroy', { confirm: 'main' }, 'confirm'],
] as const

async function linesOf({ commands }: AdminServer, database: string | null) {
  const { lines } = await commands.run('audit.list', { database })
  return lines.filter(({ door }) => door === 'page')
}

async function sessionOf({ commands }: AdminServer): Promise<string> {
  const [newest] = await commands.run('session.list', {})
  return newest!.id
}

describe('the lines about operations', () => {
  for (const [operation, effect, input, hidden] of CHANGES) {
    test(`name the login behind ${operation} (${effect}), and no values`, async () => {
      await using server = await setupAdmin()
      const browser = await server.logIn()
      const output = await browser.result(operation, { database: 'main', ...input })
      const lines = await linesOf(server, 'main')
      const session = await sessionOf(server)
      const caller = { uid: null, client: null, user: null, address: '127.0.0.1', session }
      expect(lines).toEqual([
        {
          at: expect.any(Number),
          operation,
          result: expect.stringMatching(/^(?:done|begun)$/),
          door: 'page',
          ...caller,
        },
      ])
      const text = JSON.stringify(lines)
      expect(text).not.toContain(hidden)
      for (const secret of secretsOf(output)) expect(text).not.toContain(secret)
    })
  }

  test('are there for operations on the server, and for logins', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    await browser.result('db.create', { name: 'other' })
    const lines = await linesOf(server, null)
    const session = await sessionOf(server)
    expect(lines).toMatchObject([
      { operation: 'session.begin', result: 'done', session },
      { operation: 'db.create', result: 'done', session },
    ])
  })

  test('are there for a change that fails after it began', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    await browser.run('user.delete', { database: 'main', user: 'none', confirm: 'none' })
    expect(await linesOf(server, 'main')).toMatchObject([
      { operation: 'user.delete', result: 'UNKNOWN_USER' },
    ])
  })

  test('are not there for reading, asking, and refusals', async () => {
    await using server = await setupAdmin()
    const browser: Browser = await server.logIn({ isReadOnly: true })
    await browser.result('client.list', { database: 'main' })
    await browser.result('blob.gc', { database: 'main', dryRun: true })
    await browser.run('client.create', { database: 'main', scopes: [] })
    expect(await linesOf(server, 'main')).toEqual([])
  })
})

/** All texts of an output. */
function secretsOf(output: unknown): string[] {
  if (typeof output === 'string') return output.length > 8 ? [output] : []
  return typeof output === 'object' && output !== null
    ? Object.values(output).flatMap(secretsOf)
    : []
}
