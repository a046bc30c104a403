import type { OutputOf } from '../../src/control/operations'
import { describe, expect, test } from 'bun:test'
import { codeOf } from '../auth/setup'
import { ALICE, BOB, setupData } from '../http/setup'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

const MAIN = { database: 'main' }

/** A realm of Alice with Bob and an invitation to Carl. */
async function setup() {
  const server = await setupData()
  const { root } = server
  await root.post('/all/realms', { realmId: 'rlmA', name: '<b>A</b>', owner: ALICE })
  await root.post('/all/members', {
    id: 'mbrB',
    realmId: 'rlmA',
    userId: BOB,
    accepted: '2030-01-01T00:00:00.000Z',
    roles: ['doer'],
  })
  const invited = { id: 'mbrC', realmId: 'rlmA', email: 'carl@example.com', invite: true }
  expect((await root.post('/all/members', invited)).status).toBe(200)
  const mails = async () => {
    const { mails: all } = await server.commands.run('mail.list', MAIN)
    return all.filter(({ kind, state }) => kind === 'invite' && state === 'printed')
  }
  await until(async () => (await mails()).length === 1)
  return { server, mails, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

describe('member.list', () => {
  test('shows the members of a realm, its owner and open invitations', async () => {
    await using scene = await setup()
    const { commands } = scene.server
    const { members, cursor } = await commands.run('member.list', { ...MAIN, realm: 'rlmA' })
    const row = { realmId: 'rlmA', realmName: '<b>A</b>', isOwner: false }
    expect(members).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...row,
          id: 'mbrB',
          userId: BOB,
          state: 'accepted',
          roles: ['doer'],
        }),
        expect.objectContaining({
          ...row,
          id: 'mbrC',
          email: 'carl@example.com',
          state: 'invited',
        }),
        expect.objectContaining({ ...row, userId: ALICE, isOwner: true }),
      ]),
    )
    expect(cursor).toBeNull()
  })

  test('shows the realms of a user', async () => {
    await using scene = await setup()
    const { commands } = scene.server
    const { members } = await commands.run('member.list', { ...MAIN, user: BOB })
    expect(members.map(({ id }) => id)).toEqual(['mbrB'])
    const none = await commands.run('member.list', { ...MAIN, user: 'nobody' })
    expect(none.members).toEqual([])
  })

  test('shows all realms of a user, page by page', async () => {
    await using server = await setupOperations()
    const realms = Array.from({ length: 250 }, (_, at) => [
      `rlm${at}`,
      { realms: { [`rlm${at}`]: { owner: BOB } } },
    ])
    const upload = new Blob([JSON.stringify({ data: Object.fromEntries(realms) })]).stream()
    await server.run('import', {}, undefined, { upload })
    const found = new Map<string, string>()
    let cursor: string | null = null
    let pages = 0
    do {
      const page: OutputOf<'member.list'> = await server.run('member.list', { user: BOB, cursor })
      expect(page.members.some(({ id }) => found.has(id))).toBe(false)
      for (const { id, realmId } of page.members) found.set(id, realmId)
      pages += 1
      ;({ cursor } = page)
    } while (cursor !== null)
    expect(pages).toBeGreaterThan(1)
    expect(new Set(found.values()).size).toBe(250)
    const wrong = () => server.run('member.list', { user: BOB, cursor: 'x' })
    expect(await codeOf(wrong)).toBe('INVALID_REQUEST')
  })

  test('needs either a realm that exists or a user', async () => {
    await using server = await setupOperations()
    const code = (input: object) => codeOf(() => server.run('member.list', input))
    expect(await code({})).toBe('INVALID_REQUEST')
    expect(await code({ realm: 'rlmA', user: BOB })).toBe('INVALID_REQUEST')
    expect(await code({ realm: 'rlmA' })).toBe('UNKNOWN_REALM')
  })
})

describe('member.resend', () => {
  test('sends the mail of an invitation again, with another link', async () => {
    await using scene = await setup()
    const { commands, clock } = scene.server
    clock.advance(60_000)
    await commands.run('member.resend', { ...MAIN, member: 'mbrC' })
    await until(async () => (await scene.mails()).length === 2)
    const [again, first] = await scene.mails()
    expect(again?.to).toBe('carl@example.com')
    expect(again?.link).not.toBe(first?.link)
    const { value } = await commands.run('object.show', { ...MAIN, table: 'members', key: 'mbrC' })
    expect(value['invitedDate']).toEqual({ $t: 'Date', v: new Date(clock.now()).toISOString() })
    const { lines } = await commands.run('audit.list', MAIN)
    expect(lines.at(-1)).toMatchObject({ operation: 'member.resend', result: 'done' })
  })

  test('sends no more mails to an address than others may, and none to members', async () => {
    await using scene = await setup()
    const { commands } = scene.server
    const resend = (member: string) => commands.run('member.resend', { ...MAIN, member })
    for (let n = 0; n < 9; n += 1) await resend('mbrC')
    expect(await codeOf(() => resend('mbrC'))).toBe('TOO_MANY_REQUESTS')
    expect(await codeOf(() => resend('mbrB'))).toBe('CONFLICT')
    expect(await codeOf(() => resend('mbrX'))).toBe('UNKNOWN_OBJECT')
  })

  test('is for callers who may write', async () => {
    await using server = await setupOperations()
    const reader = callerWith('ACCESS_DB', 'GLOBAL_READ')
    const resend = () => server.run('member.resend', { member: 'x' }, reader)
    expect(await codeOf(resend)).toBe('NOT_AUTHORIZED')
  })
})
