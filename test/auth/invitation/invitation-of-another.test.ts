import { describe, expect, test } from 'bun:test'
import { hashSecret } from '../../../src/domain/value/secret'
import { ALICE, BOB, personOf, setupInvitations } from '../invitation-setup'
import { refusalOf } from '../setup'

const NOW = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }

type Scene = Awaited<ReturnType<typeof setupInvitations>>

/** In the application, by the account with this id and Bob's address. */
async function answerAs(server: Scene, id: string, answer: 'accepted' | 'rejected') {
  const row = await server.row()
  await server.put(personOf(id, { email: BOB }), 'members', { ...row, [answer]: NOW })
}

test('an invitation is stored without the name of the inviter, who may be deleted', async () => {
  await using server = await setupInvitations()
  const secret = await server.invite()
  const kept = await server.database.read((tx) => tx.invitations.find(hashSecret(secret)))
  expect(kept).toMatchObject({ email: BOB })
  expect(JSON.stringify(kept)).not.toContain(ALICE)
})

describe('an invitation that was answered', () => {
  test.each<[string, string, readonly string[], boolean]>([
    ['by no account yet', BOB, [], false],
    ['by the account of its address', BOB, [BOB, 'u1'], false],
    ['by the only account with its address', 'u1', ['u1'], false],
    ['by another account than that of its address', 'u1', [BOB, 'u1'], true],
    ['by one of several', 'u1', ['u1', 'u2'], true],
    ['by an account that says no address', 'u1', [], true],
  ])('%s says whether that was another', async (_, answering, accounts, isAnothers) => {
    await using server = await setupInvitations()
    for (const id of accounts) await server.addUser(id, { data: { email: BOB } })
    const secret = await server.invite()
    expect(await server.invitations.show(secret, false)).toMatchObject({ isAnothers: false })
    for (const state of ['rejected', 'accepted'] as const) {
      await answerAs(server, answering, state)
      server.clock.advance(1)
      expect(await server.invitations.show(secret, false)).toMatchObject({ state, isAnothers })
    }
  })

  test('with another account is not accepted by the link, and creates no user', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await answerAs(server, 'u1', 'rejected')
    const before = await server.row()
    const refusal = await refusalOf(() => server.invitations.answer(secret, 'accept'))
    expect(refusal).toMatchObject({
      code: 'CONFLICT',
      message: 'This invitation was answered with another account',
    })
    await server.invitations.answer(secret, 'reject')
    expect(await server.row()).toEqual(before)
    expect(await server.findUser(BOB)).toBeUndefined()
  })
})
