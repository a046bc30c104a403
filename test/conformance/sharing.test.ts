import { describe, expect, test } from 'bun:test'
import { type Caller, objectsOf } from '../http/setup'
import { type Executable, setupExecutable } from '../promises/setup'

/** conformance.md, section (e), as far as it needs no sync: sharing, realms and invitations over REST. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'
const CAROL = 'carol@example.com'

type Row = Readonly<Record<string, unknown>>

interface Team extends Executable {
  readonly root: () => Promise<Caller>
  readonly alice: Caller
  readonly bob: Caller
  readonly carol: Caller
  readonly realmId: string
  /** Makes Bob a member with exactly these permissions or roles. */
  letBob(rights: Row): Promise<void>
}

/** Alice has created a realm with two objects, one of them unowned; Bob is in no realm. */
async function setupTeam(): Promise<Team> {
  const executable = await setupExecutable()
  const [alice, bob, carol] = [
    await executable.as(ALICE),
    await executable.as(BOB),
    await executable.as(CAROL),
  ]
  const root = await executable.root()
  const { body } = await alice.post('/my/realms', { name: 'Team' })
  const { realmId } = body as { realmId: string }
  await alice.post('/my/plain', [
    { id: 'hers', realmId, title: 'a', done: false },
    { id: 'nobodys', realmId, title: 'b', done: false, owner: null },
  ])
  return {
    ...executable,
    alice,
    bob,
    carol,
    realmId,
    async letBob(rights) {
      await must(root.post('/all/members', { id: 'mmbBob', realmId, userId: BOB, ...rights }))
    },
    [Symbol.asyncDispose]: () => executable[Symbol.asyncDispose](),
  }
}

async function must(asked: ReturnType<Caller['post']>): Promise<Row> {
  const answer = await asked
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body as Row
}

/** The status of a refusal, and what was missing. */
async function refusal(asked: ReturnType<Caller['post']>) {
  const { status, body } = await asked
  const { reason } = body as { reason?: string }
  return reason === undefined ? status : `${status} ${reason}`
}

const keys = async (caller: Caller, path: string) =>
  objectsOf(await caller.get(path)).map(({ id, realmId }) => id ?? realmId)

const date = (): Row => ({ $t: 'Date', v: new Date(Date.now()).toISOString() })

describe('realms', () => {
  test('118: the creator of a realm puts members and objects into it and keeps seeing them', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    const realmId = 'rlm-founded-by-alice'
    await must(alice.post('/my/realms', { realmId, name: 'Team' }))
    await must(
      alice.post('/my/members', [
        { realmId, email: ALICE, permissions: { manage: '*' } },
        { realmId, email: BOB },
      ]),
    )
    await must(
      alice.post('/my/plain', [
        { id: 'one', realmId },
        { id: 'two', realmId },
      ]),
    )
    expect(await keys(alice, '/my/plain')).toEqual(['one', 'two'])
    expect(await keys(alice, '/my/realms')).toEqual([realmId])
    // Two of these, and the row of the owner.
    expect(objectsOf(await alice.get('/my/members'))).toHaveLength(3)
  })

  test('119: members write what their permissions say, owners what is theirs', async () => {
    await using team = await setupTeam()
    const { alice, bob, realmId } = team
    const put = (row: Row) => bob.post('/my/plain', row)
    expect(await refusal(put({ id: 'new', realmId }))).toBe('403 realmId')
    await team.letBob({})
    expect((await bob.get('/my/plain/hers')).status).toBe(200)
    expect(await refusal(put({ id: 'new', realmId }))).toBe('403 add plain')
    await team.letBob({ permissions: { add: ['plain'], update: { plain: ['done'] } } })
    await must(put({ id: 'new', realmId }))
    await must(put({ id: 'nobodys', title: 'b', done: true }))
    expect(await refusal(put({ id: 'nobodys', title: 'x', done: true }))).toBe(
      '403 update plain.title',
    )
    expect(await refusal(bob.remove('/my/plain/hers'))).toBe('403 manage plain')
    // He owns the objects that he created.
    await must(put({ id: 'new', realmId, title: 'mine' }))
    expect((await bob.remove('/my/plain/new')).status).toBe(204)
    await team.letBob({ permissions: { manage: ['plain'] } })
    await must(put({ id: 'hers', title: 'changed' }))
    expect((await bob.remove('/my/plain/hers')).status).toBe(204)
    expect((await bob.remove('/my/plain/nobodys')).status).toBe(204)
    expect(await keys(alice, '/my/plain')).toEqual([])
  })

  test('120: "*" updates neither owner nor realm; naming them does', async () => {
    await using team = await setupTeam()
    const { bob } = team
    await team.letBob({ permissions: { update: '*' } })
    const row = { id: 'nobodys', title: 'b', done: false }
    const put = (changes: Row) => bob.post('/my/plain', { ...row, ...changes })
    await must(put({ title: 'c' }))
    expect(await refusal(put({ title: 'c', owner: BOB }))).toBe('403 update plain.owner')
    expect(await refusal(put({ title: 'c', realmId: BOB }))).toBe('403 update plain.realmId')
    await team.letBob({ permissions: { update: { plain: ['*', 'owner', 'realmId'] } } })
    await must(put({ title: 'c', owner: BOB, realmId: BOB }))
  })

  test('121: an object is moved with permission to remove it there and add it here', async () => {
    await using team = await setupTeam()
    const { alice, bob, carol } = team
    await team.letBob({ permissions: { manage: ['plain'] } })
    const { realmId: other } = await must(carol.post('/my/realms', { name: 'Other' }))
    expect(await refusal(bob.post('/my/plain', { id: 'hers', realmId: other }))).toBe('403 realmId')
    const root = await team.root()
    const member = { id: 'mmbOther', realmId: other, userId: BOB }
    await must(root.post('/all/members', member))
    expect(await refusal(bob.post('/my/plain', { id: 'hers', realmId: other }))).toBe(
      '403 add plain',
    )
    await must(root.post('/all/members', { ...member, permissions: { add: ['plain'] } }))
    await must(bob.post('/my/plain', { id: 'hers', realmId: other }))
    expect(await keys(alice, '/my/plain')).toEqual(['nobodys'])
    expect(await keys(carol, '/my/plain')).toEqual(['hers'])
  })

  test('122: a write into rlm-public without permission is rejected and stores nothing', async () => {
    await using team = await setupTeam()
    const rows = [{ id: 'private' }, { id: 'public', realmId: 'rlm-public' }]
    expect(await refusal(team.bob.post('/my/plain', rows))).toBe('403 add plain')
    expect(await keys(team.bob, '/my/plain')).toEqual([])
    const root = await team.root()
    await must(root.post('/public/members', { userId: BOB, permissions: { add: ['plain'] } }))
    await must(team.bob.post('/my/plain', rows))
    expect(await keys(team.anyone, '/public/plain')).toEqual(['public'])
  })

  test('130: deleting a realm takes its members, its roles and its objects along', async () => {
    await using team = await setupTeam()
    const { alice, bob, realmId } = team
    await team.letBob({ permissions: { manage: ['plain'] } })
    await must(alice.post('/my/roles', { realmId, name: 'doer', permissions: {} }))
    expect((await bob.remove(`/my/realms/${realmId}`)).status).toBe(403)
    expect((await alice.remove(`/my/realms/${realmId}`)).status).toBe(204)
    const root = await team.root()
    for (const table of ['realms', 'members', 'roles', 'plain']) {
      expect(objectsOf(await root.get(`/all/${table}`))).toEqual([])
      expect(objectsOf(await bob.get(`/my/${table}`))).toEqual([])
    }
  })

  test('132: a tied realm that two found is one', async () => {
    await using team = await setupTeam()
    const { alice, bob } = team
    await team.letBob({ permissions: { manage: ['plain'] } })
    const tied = { realmId: 'rlm~hers' }
    const [one, other] = await Promise.all([
      alice.post('/my/realms', { ...tied, name: 'of Alice' }),
      bob.post('/my/realms', { ...tied, name: 'of Bob' }),
    ])
    // The second caller may not see it, and gets the answer for hidden objects.
    expect([one, other].map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403])
    const realms = objectsOf(await (await team.root()).get('/all/realms'))
    expect(realms.filter(({ realmId }) => realmId === tied.realmId)).toHaveLength(1)
  })

  test('135: private realms and private keys are visible to their user only', async () => {
    await using team = await setupTeam()
    const { alice, bob, carol } = team
    await must(alice.post('/my/plain', [{ id: 'secret' }, { id: '#settings', theme: 'dark' }]))
    await must(bob.post('/my/plain', { id: '#settings', theme: 'light' }))
    await team.letBob({ permissions: { manage: '*' } })
    for (const other of [bob, carol]) {
      for (const key of ['secret', `%23settings:${ALICE}`]) {
        expect((await other.get(`/my/plain/${key}`)).status).toBe(404)
      }
      expect((await other.post('/my/plain', { id: 'secret', x: 1 })).status).toBe(403)
      expect((await other.post('/my/plain', { id: 'x', realmId: ALICE })).status).toBe(403)
    }
    expect((await alice.get('/my/plain/%23settings')).body).toMatchObject({ theme: 'dark' })
    expect((await bob.get('/my/plain/%23settings')).body).toMatchObject({ theme: 'light' })
  })
})

describe('members', () => {
  test('123: a user cannot make another user a member', async () => {
    await using team = await setupTeam()
    const { alice, realmId } = team
    const row = { realmId, userId: BOB, permissions: { manage: '*' } }
    expect(await refusal(alice.post('/my/members', row))).toBe('403 userId')
    expect(await keys(team.bob, '/my/realms')).toEqual([])
  })

  test('124, 126: an invitee sees the realm and their row, and accepts', async () => {
    await using team = await setupTeam()
    const { alice, bob, realmId } = team
    const row = await must(alice.post('/my/members', { realmId, email: BOB, roles: [] }))
    expect(objectsOf(await bob.get('/my/members'))).toEqual([row])
    expect(await keys(bob, '/my/realms')).toEqual([realmId])
    expect(await keys(bob, '/my/plain')).toEqual([])
    const accepted = date()
    const answered = await must(bob.post('/my/members', { ...row, accepted }))
    expect(answered).toEqual({ ...row, accepted, userId: BOB })
    expect(await keys(bob, '/my/plain')).toEqual(['hers', 'nobodys'])
    expect(objectsOf(await alice.get('/my/members'))).toContainEqual(answered)
  })

  test('125: invite sends a mail, and the row says when and by whom', async () => {
    await using team = await setupTeam()
    const { alice, realmId, served } = team
    const before = Date.now()
    const row = await must(alice.post('/my/members', { realmId, email: BOB, invite: true }))
    const { invitedDate, invitedBy } = row as { invitedDate: { v: string }; invitedBy: Row }
    expect(Date.parse(invitedDate.v)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(invitedDate.v)).toBeLessThanOrEqual(Date.now())
    expect(invitedBy).toEqual({ name: ALICE, email: ALICE, userId: ALICE })
    await served[Symbol.asyncDispose]()
    const mails = (await served.log).split('\n').filter((line) => line.includes('"logger":"mail"'))
    expect(mails).toHaveLength(1)
    expect(JSON.parse(mails[0] ?? '{}')).toMatchObject({ kind: 'invite', to: BOB })
  })

  test('127: an invitee who rejects keeps the invitation and may still accept', async () => {
    await using team = await setupTeam()
    const { alice, bob, realmId } = team
    const row = await must(alice.post('/my/members', { realmId, email: BOB }))
    const rejected = date()
    await must(bob.post('/my/members', { ...row, rejected }))
    expect(await keys(bob, '/my/realms')).toEqual([realmId])
    expect(await keys(bob, '/my/plain')).toEqual([])
    expect(objectsOf(await alice.get('/my/members'))).toContainEqual({
      ...row,
      rejected,
      userId: BOB,
    })
    await must(bob.post('/my/members', { ...row, rejected, accepted: date() }))
    expect(await keys(alice, '/my/plain')).toEqual(await keys(bob, '/my/plain'))
  })

  test('128: a user cannot answer for another user', async () => {
    await using team = await setupTeam()
    const { alice, bob, carol, realmId } = team
    await team.letBob({})
    const row = await must(alice.post('/my/members', { realmId, email: CAROL }))
    for (const other of [alice, bob]) {
      for (const answer of [{ accepted: date() }, { rejected: date() }, { userId: CAROL }]) {
        expect((await other.post('/my/members', { ...row, ...answer })).status).toBe(403)
      }
    }
    expect(
      (await carol.post('/my/members', { ...row, accepted: date(), userId: BOB })).status,
    ).toBe(403)
    expect(objectsOf(await carol.get('/my/members'))).toEqual([row])
  })

  test('129: a removed member no longer sees the realm', async () => {
    await using team = await setupTeam()
    await team.letBob({ permissions: { add: ['plain'] } })
    await must(team.bob.post('/my/plain', { id: 'his', realmId: team.realmId }))
    expect((await team.alice.remove('/my/members/mmbBob')).status).toBe(204)
    for (const table of ['realms', 'members', 'plain']) {
      expect(objectsOf(await team.bob.get(`/my/${table}`))).toEqual([])
    }
    expect((await team.bob.get('/my/plain/his')).status).toBe(404)
  })

  test('131: roles count where members name them, and change what they may at once', async () => {
    await using team = await setupTeam()
    const { alice, bob, realmId } = team
    const root = await team.root()
    const put = () => bob.post('/my/items', { realmId })
    await team.letBob({ roles: ['doer'] })
    expect(await refusal(put())).toBe('403 add items')
    await must(root.post('/public/roles', { name: 'doer', permissions: { add: ['items'] } }))
    await must(put())
    await must(alice.post('/my/roles', { realmId, name: 'doer', permissions: {} }))
    expect(await refusal(put())).toBe('403 add items')
    const key = encodeURIComponent(JSON.stringify([realmId, 'doer']))
    expect((await alice.remove(`/my/roles/${key}`)).status).toBe(204)
    await must(put())
  })

  test('133: members leave, but not the last one with full rights while others stay', async () => {
    await using team = await setupTeam()
    const { bob, realmId } = team
    const root = await team.root()
    await must(root.post('/all/realms', { realmId, owner: null }))
    await root.remove(`/all/members/mmb${encodeURIComponent(realmId.slice(3))}`)
    await must(root.post('/all/members', { id: 'mmbCarol', realmId, userId: CAROL }))
    await team.letBob({ permissions: { manage: '*' } })
    expect(await refusal(bob.remove('/my/members/mmbBob'))).toBe('409 last member with full rights')
    expect((await team.carol.remove('/my/members/mmbCarol')).status).toBe(204)
    expect(await keys(team.carol, '/my/realms')).toEqual([])
    expect((await bob.remove('/my/members/mmbBob')).status).toBe(204)
  })

  test('134: a member can grant only permissions that they hold', async () => {
    await using team = await setupTeam()
    const { bob, realmId } = team
    await team.letBob({ permissions: { add: ['members', 'plain'] } })
    const invite = (rights: Row) => bob.post('/my/members', { realmId, email: CAROL, ...rights })
    await must(invite({ permissions: { add: ['plain'] } }))
    for (const permissions of [{ manage: '*' }, { add: '*' }, { update: { plain: ['title'] } }]) {
      expect(await refusal(invite({ permissions }))).toBe('403 permissions')
    }
    const root = await team.root()
    await must(root.post('/public/roles', { name: 'boss', permissions: { manage: '*' } }))
    expect(await refusal(invite({ roles: ['boss'] }))).toBe('403 permissions')
  })
})
