import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { type OpenStore, createDatabase, setupDatabase } from './fixture'

/** Background work that one holder at a time does. */
export function describeDuties(openStore: OpenStore): void {
  describe('a duty', () => {
    test('is granted to a caller, and so is each of another name', async () => {
      await using fixture = await setupDatabase(openStore)
      await using jobs = ask(fixture.database, 'jobs')
      await using mails = ask(fixture.database, 'mails')
      await Promise.all([jobs.granted, mails.granted])
      expect([jobs.isMine(), mails.isMine()]).toEqual([true, true])
    })

    test('is with one handle at a time, and with the next when it is given back', async () => {
      await using fixture = await setupDatabase(openStore)
      const other = await (await fixture.another()).open('main')
      await using first = ask(fixture.database, 'jobs')
      await first.granted
      await using second = ask(other, 'jobs')
      await Bun.sleep(20)
      expect([first.isMine(), second.isMine()]).toEqual([true, false])
      await first[Symbol.asyncDispose]()
      await second.granted
      expect([first.isMine(), second.isMine()]).toEqual([false, true])
    })

    test('is not granted to those who stopped asking', async () => {
      await using database = await createDatabase(openStore)
      await using first = ask(database, 'jobs')
      await first.granted
      const second = ask(database, 'jobs')
      await using third = ask(database, 'jobs')
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
      await third.granted
      expect([second.isMine(), third.isMine()]).toEqual([false, true])
    })
  })
}

/** `granted` resolves once the duty is this asker's. */
function ask(database: Database, name: 'jobs' | 'mails') {
  const { promise: granted, resolve } = Promise.withResolvers<void>()
  const duty = database.duty(name, resolve)
  if (duty.isMine) resolve()
  return {
    granted,
    isMine: () => duty.isMine,
    [Symbol.asyncDispose]: () => duty[Symbol.asyncDispose](),
  }
}
