import { expect, test } from 'bun:test'
import { admitUser } from '../../../src/domain/user/policy'
import { invitation } from '../../contract/invitations'
import { NOW, setupWorld } from './removal-setup'

test('deleting a user deletes the invitations to their address, and no others', async () => {
  await using world = await setupWorld()
  const { database } = world
  const [hers, shared, his] = ['alice@example.com', 'team@example.com', 'bob@example.com']
  const emails = { [hers]: hers, u1: shared, u2: shared, u3: his, [his]: his }
  await database.write((tx) => {
    for (const [id, email] of Object.entries(emails)) {
      admitUser(tx, { id, email, name: null }, { action: 'prod' }, NOW)
      tx.invitations.put(invitation(`to ${email} of ${id}`, { email }))
    }
  })
  const left = () =>
    database.read((tx) => {
      const found: string[] = []
      for (const [id, email] of Object.entries(emails)) {
        if (tx.invitations.find(`to ${email} of ${id}`) !== undefined) found.push(id)
      }
      return found
    })
  await world.remove(hers)
  expect(await left()).toEqual(['u1', 'u2', 'u3', his])
  await world.remove('u1')
  await world.remove('u3')
  expect(await left()).toEqual(['u1', 'u2', 'u3', his])
  await world.remove('u2')
  expect(await left()).toEqual(['u3', his])
  await world.remove(his)
  expect(await left()).toEqual([])
})
