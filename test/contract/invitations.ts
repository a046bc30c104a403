import { describe, expect, test } from 'bun:test'
import { inEveryLife, NOW, type OpenStore, createDatabase, setupDatabase } from './fixture'
import type { Invitation } from '../../src/domain/store/invitations'

const SPAN = { after: NOW, until: NOW + 100 }

/** Invitations that were sent by mail, found by their link and counted by inviter and by address. */
export function describeInvitations(openStore: OpenStore): void {
  describe('invitations', () => {
    test('are found by their id as they were put', async () => {
      await using fixture = await setupDatabase(openStore)
      const one = invitation('one')
      const two = invitation('two', { origin: null, originName: 'main', realm: 8 })
      await fixture.database.write((tx) => {
        tx.invitations.put(one)
        tx.invitations.put(two)
      })
      await inEveryLife(fixture, async (database) => {
        const find = (id: string) => database.read((tx) => tx.invitations.find(id))
        expect(await find('one')).toEqual(one)
        expect(await find('two')).toEqual(two)
        expect(await find('three')).toBeUndefined()
      })
    })

    test('are counted in a span, the newest first and no more than are asked for', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => {
        for (const at of [3, 101, 1, 0, 100, 2]) {
          tx.invitations.put(invitation(`n${at}`, { sent: NOW + at }))
        }
        tx.invitations.put(
          invitation('of another', {
            inviter: 'mallory',
            email: 'eve@example.com',
            sent: NOW + 50,
          }),
        )
      })
      await database.read((tx) => {
        const times = [100, 3, 2, 1].map((at) => NOW + at)
        expect(tx.invitations.sent({ inviter: 'alice' }, SPAN, 10)).toEqual(times)
        expect(tx.invitations.sent({ email: 'bob@example.com' }, SPAN, 10)).toEqual(times)
        expect(tx.invitations.sent({ inviter: 'alice' }, SPAN, 2)).toEqual(times.slice(0, 2))
        expect(tx.invitations.sent({ email: 'bob@example.com' }, SPAN, 2)).toEqual(
          times.slice(0, 2),
        )
        expect(tx.invitations.sent({ inviter: 'mallory' }, SPAN, 10)).toEqual([NOW + 50])
        expect(tx.invitations.sent({ email: 'nobody@example.com' }, SPAN, 10)).toEqual([])
      })
    })

    test('go with the address they went to', async () => {
      await using fixture = await setupDatabase(openStore)
      await fixture.database.write((tx) => {
        tx.invitations.put(invitation('one'))
        tx.invitations.put(invitation('two', { member: 'mmb2' }))
        tx.invitations.put(invitation('three', { email: 'rob.bob@example.com' }))
        tx.forgetAddress('bob@example.com')
        tx.forgetAddress('nobody@example.com')
      })
      await inEveryLife(fixture, async (database) => {
        const find = (id: string) => database.read((tx) => tx.invitations.find(id))
        expect(await find('one')).toBeUndefined()
        expect(await find('two')).toBeUndefined()
        expect(await find('three')).toMatchObject({ id: 'three' })
      })
    })

    test('are forgotten when they were over before a time', async () => {
      await using fixture = await setupDatabase(openStore)
      await fixture.database.write((tx) => {
        tx.invitations.put(invitation('over', { expires: NOW - 1 }))
        tx.invitations.put(invitation('just over', { expires: NOW }))
        tx.prune('invitations', NOW, 10)
      })
      await inEveryLife(fixture, async (database) => {
        const find = (id: string) => database.read((tx) => tx.invitations.find(id))
        expect(await find('over')).toBeUndefined()
        expect(await find('just over')).toMatchObject({ expires: NOW })
      })
    })
  })
}

export function invitation(id: string, changes: Partial<Invitation> = {}): Invitation {
  return {
    id,
    member: 'mmb1',
    realm: 7,
    email: 'bob@example.com',
    inviter: 'alice',
    origin: 'https://app.example.com',
    originName: 'app.example.com',
    sent: NOW,
    expires: NOW + 1_000,
    ...changes,
  }
}
