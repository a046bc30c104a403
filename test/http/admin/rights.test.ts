import { describe, expect, test } from 'bun:test'
import type { LiveSession } from '../../../src/auth/admin/sessions'
import { createAdminTable } from '../../../src/control/admin'
import { findOperation, operationNames } from '../../../src/control/operations'
import { SatchelError } from '../../../src/domain/value/error'
import { type Scope, SCOPES } from '../../../src/domain/value/scope'
import { MINUTE } from '../../../src/domain/value/time'
import { setupDataFolder } from '../../control/setup'
import { until } from '../../timing'
import { setupLogin } from '../login-setup'
import { openBrowser, refusal, setupAdmin } from './setup'

const OWNER: LiveSession = {
  id: 's',
  address: '::1',
  began: 0,
  ends: 2,
  idleAt: 2,
  confirmedUntil: 2,
  at: 1,
  database: null,
  isReadOnly: false,
  client: null,
  scopes: SCOPES,
}

const CLIENT: LiveSession = {
  ...OWNER,
  database: 'main',
  client: { id: 'c', email: 'ann@example.com' },
}

/** All operations but those of test mode, which the page has only there. */
const NAMES = operationNames().filter((name) => !name.startsWith('test.'))

async function tableOf() {
  const folder = await setupDataFolder()
  const table = createAdminTable(folder)
  return {
    allowed(session: LiveSession) {
      const listed = table.list(session).map(({ name }) => name)
      const admitted = NAMES.filter((name) => {
        try {
          table.admit(session, name, '::1')
          return true
        } catch (error) {
          if (error instanceof SatchelError) return false
          throw error
        }
      })
      expect(listed).toEqual(admitted)
      return admitted
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

const operationsWhere = (isMeant: (name: (typeof NAMES)[number]) => boolean) =>
  NAMES.filter(isMeant)
const scopesOf = (name: string) => findOperation(name)!.scopes
const effectOf = (name: string) => findOperation(name)!.effect

describe('of all operations', () => {
  test('the owner of the data folder may use all', async () => {
    await using table = await tableOf()
    expect(table.allowed(OWNER)).toEqual(NAMES)
  })

  test('a login to read may use those that read, or can', async () => {
    await using table = await tableOf()
    const expected = operationsWhere(
      (name) => effectOf(name) === 'read' || findOperation(name)!.asks !== undefined,
    )
    expect(table.allowed({ ...OWNER, isReadOnly: true })).toEqual(expected)
  })

  test('a login to one database may use those of a database', async () => {
    await using table = await tableOf()
    const expected = operationsWhere((name) => scopesOf(name) !== 'operator')
    expect(table.allowed({ ...OWNER, database: 'main' })).toEqual(expected)
    for (const name of expected) {
      expect([name, Object.keys(findOperation(name)!.input)]).toEqual([
        name,
        expect.arrayContaining(['database']),
      ])
    }
  })

  test('a client may use those whose scopes it has', async () => {
    await using table = await tableOf()
    const sets: readonly (readonly Scope[])[] = [[], SCOPES, ...SCOPES.map((scope) => [scope])]
    for (const scopes of [
      ...sets,
      ...SCOPES.map((left) => SCOPES.filter((each) => each !== left)),
    ]) {
      const expected = operationsWhere((name) => {
        const needed = scopesOf(name)
        return needed !== 'operator' && needed.every((scope) => scopes.includes(scope))
      })
      expect([scopes, table.allowed({ ...CLIENT, scopes })]).toEqual([scopes, expected])
    }
  })
})

describe('a login for one database', () => {
  test('reaches no other one', async () => {
    await using server = await setupAdmin()
    await server.commands.run('db.create', { name: 'other' })
    const browser = await server.logIn({ only: 'main' })
    expect(await (await browser.send('GET', '/session')).json()).toMatchObject({
      role: 'client',
      databases: ['main'],
    })
    expect(await browser.result('client.list', { database: 'main' })).toHaveLength(1)
    for (const database of ['other', 'MAIN', '', null, ['main'], undefined]) {
      const events = await browser.run('client.list', { database })
      expect([database, events]).toEqual([database, [{ error: expect.objectContaining({}) }]])
    }
  })
})

const TEMPLATES = { subjectStr: 'A', bodyTxtStr: 'B', bodyHtmlStr: 'C' }

describe('a login to read', () => {
  test('changes nothing and shows no secret, but may ask', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn({ isReadOnly: true })
    const database = 'main'
    for (const [operation, input] of [
      ['origin.add', { database, origin: 'https://example.com', force: false }],
      ['client.create', { database, scopes: [] }],
      ['table.clear', { database, table: 'x', confirm: 'x' }],
      ['blob.gc', { database, dryRun: false, confirm: 'main' }],
      ['template.test', { database, ...TEMPLATES, to: 'mallory@example.com' }],
      ['session.link', {}],
      ['session.revoke', {}],
    ] as const) {
      const answer = await browser.send('POST', `/api/${operation}`, { body: input })
      expect([operation, ...(await refusal(answer))]).toEqual([operation, 403, 'NOT_AUTHORIZED'])
    }
    expect(await browser.result('blob.gc', { database, dryRun: true })).toMatchObject({})
    expect(await server.commands.run('origin.list', { database })).toEqual([])
  })

  test('sees neither the codes nor the contents of mails, also where others see them', async () => {
    await using server = await setupLogin()
    const input = { database: 'main' }
    const { url } = await server.commands.run('session.link', { isReadOnly: true })
    const reader = openBrowser(server.url)
    await reader.post(url.split('#')[1] ?? '')
    await server.ask()
    const printed = async () => {
      const { mails } = await server.commands.run('mail.list', input)
      return mails.find(({ state }) => state === 'printed')
    }
    await until(async () => (await printed()) !== undefined)
    const { id, otp } = (await printed())!
    const answers = [
      await reader.result('mail.list', input),
      await reader.result('mail.read', { ...input, id }),
    ]
    expect(answers).toMatchObject([{ isShown: false, mails: [{ id }] }, { id }])
    expect(JSON.stringify(answers)).not.toContain(otp)
  })
})

describe('a secret', () => {
  const input = { database: 'main', scopes: ['ACCESS_DB'] }

  test('needs a login of the last ten minutes', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    expect(await browser.result('client.create', input)).toMatchObject({
      clientId: expect.any(String),
    })
    server.clock.advance(10 * MINUTE)
    const answer = await browser.send('POST', '/api/client.create', { body: input })
    expect(await refusal(answer)).toEqual([403, 'CONFIRMATION_NEEDED'])
    expect(await browser.result('client.list', { database: 'main' })).toHaveLength(2)
  })

  test('can be shown again after a confirmation, which is no login', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    server.clock.advance(10 * MINUTE)
    const confirmation = async () => {
      const { url } = await server.commands.run('session.link', { confirmation: true })
      return url.split('#')[1]!
    }
    expect(await refusal(await server.browser().post(await confirmation()))).toEqual([
      401,
      'SESSION_ENDED',
    ])
    const { key, cookie } = browser
    const answer = await browser.post(await confirmation())
    expect(answer.status).toBe(200)
    expect({ key: browser.key, cookie: browser.cookie }).toEqual({ key, cookie })
    expect(await browser.result('client.create', input)).toMatchObject({})
    expect(await server.commands.run('session.list', {})).toHaveLength(1)
  })

  test('is not in a file after that either', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    server.clock.advance(10 * MINUTE)
    const body = { operation: 'backup', input: { database: 'main' } }
    expect(await refusal(await browser.send('POST', '/ticket', { body }))).toEqual([
      403,
      'CONFIRMATION_NEEDED',
    ])
  })
})

describe('a destruction', () => {
  test('must name its object', async () => {
    await using server = await setupAdmin()
    await server.commands.run('db.create', { name: 'other' })
    const browser = await server.logIn()
    const input = { database: 'other', hard: true }
    for (const confirm of [undefined, '', 'main', 'OTHER', true, ['other']]) {
      const [event] = await browser.run('db.delete', { ...input, confirm })
      const error = { code: 'INVALID_REQUEST', reason: 'confirm' }
      expect([confirm, event]).toEqual([confirm, { error: expect.objectContaining(error) }])
    }
    expect(await server.commands.run('db.list', {})).toHaveLength(2)
    await browser.result('db.delete', { ...input, confirm: 'other' })
    expect(await server.commands.run('db.list', {})).toHaveLength(1)
  })

  test('names it by the last field that has a value', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const { clientId } = (await browser.result('client.create', {
      database: 'main',
      scopes: [],
    })) as { clientId: string }
    const input = { database: 'main', id: clientId }
    expect(await browser.run('client.revoke', { ...input, confirm: 'main' })).toMatchObject([
      { error: { reason: 'confirm' } },
    ])
    await browser.result('client.revoke', { ...input, confirm: clientId })
    const operations = (await (await browser.send('GET', '/operations')).json()) as {
      name: string
      confirms: string[]
    }[]
    const confirms = (name: string) => operations.find((each) => each.name === name)?.confirms
    expect(confirms('client.revoke')).toEqual(['database', 'id'])
    expect(confirms('client.list')).toEqual([])
    expect(confirms('object.delete')).toEqual(['database', 'table', 'key'])
    expect(confirms('db.delete')).toEqual(['database'])
  })

  test('needs no name to ask for its extent', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    expect(await browser.result('blob.gc', { database: 'main', dryRun: true })).toMatchObject({})
  })
})
