import { expect, test } from 'bun:test'
import { createOutbox } from '../../src/mail/outbox'
import { setupStore } from '../auth/setup'
import { NOW } from '../contract/fixture'
import { mail } from '../contract/mails'

test('an outbox without the duty waits for it, and then sends what is due', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const open = (sent: string[]) =>
    createOutbox({
      database,
      clock: { now: () => NOW },
      deliver: async ({ id }) => void sent.push(id),
      report: (_mail, error) => {
        throw error
      },
    })
  const [byFirst, bySecond]: [string[], string[]] = [[], []]
  await using first = open(byFirst)
  await using second = open(bySecond)
  const put = (id: string) =>
    database.write((tx) => tx.mails.put(mail(id, { due: NOW, expires: NOW + 1 })))
  const idle = () => Promise.all([first.idle(), second.idle()])
  await put('a')
  await idle()
  expect([byFirst, bySecond]).toEqual([['a'], []])
  await first[Symbol.asyncDispose]()
  await put('b')
  await idle()
  expect([byFirst, bySecond]).toEqual([['a'], ['b']])
  expect(await database.read((tx) => tx.mails.due(Infinity, 1)[0]?.due)).toBeUndefined()
})
