import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { inEveryLife, NOW, type OpenStore, createDatabase, setupDatabase } from './fixture'
import { type QueuedMail, recipientOf } from '../../src/domain/store/mails'

/** Mails that wait to be sent. */
export function describeMails(openStore: OpenStore): void {
  describe('mails', () => {
    test('go with the address they are for', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      await putMails(
        database,
        mail('a'),
        mail('b', { due: NOW + 1 }),
        mail('c', { recipient: 'hash of alic' }),
      )
      await database.write((tx) => tx.forgetAddress('nobody@example.com'))
      await database.write((tx) => tx.forgetAddress('alice@example.com'))
      await inEveryLife(fixture, async (again) => {
        expect((await dueIn(again, NOW + 2)).toSorted()).toEqual(['c'])
      })
    })

    test('are due as they were last put, and gone when they are removed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const first = mail('a')
      const second = { ...first, sealed: 'other', attempts: 3, due: NOW - 1, expires: NOW + 9 }
      const due = (from: Database) => from.read((tx) => tx.mails.due(NOW, 10))
      await putMails(database, first)
      expect(await due(database)).toEqual([first])
      await putMails(database, second, mail('b'))
      expect(await database.write((tx) => tx.mails.remove('b'))).toBe(true)
      expect(await database.write((tx) => tx.mails.remove('b'))).toBe(false)
      await inEveryLife(fixture, async (database) => {
        expect(await due(database)).toEqual([second])
      })
    })

    test('come when it is their time, the longest waiting first, as many as are asked for', async () => {
      await using database = await createDatabase(openStore)
      await putMails(
        database,
        mail('later', { due: NOW + 1 }),
        mail('now', { due: NOW }),
        mail('before', { due: NOW - 1 }),
        mail('long ago', { due: -1, expires: 0 }),
      )
      expect(await dueIn(database, NOW)).toEqual(['long ago', 'before', 'now'])
      expect(await dueIn(database, NOW, 2)).toEqual(['long ago', 'before'])
      expect(await dueIn(database, -2)).toEqual([])
    })

    test('tell when the next one is due', async () => {
      await using database = await createDatabase(openStore)
      const next = () => database.read((tx) => tx.mails.due(Infinity, 1)[0]?.due)
      expect(await next()).toBeUndefined()
      await putMails(database, mail('a', { due: NOW + 2 }), mail('b', { due: NOW + 1 }))
      expect(await next()).toBe(NOW + 1)
      await putMails(database, mail('b', { due: NOW + 3 }))
      expect(await next()).toBe(NOW + 2)
    })

    test('are announced when one is put, not when one has gone', async () => {
      await using database = await createDatabase(openStore)
      const heard: boolean[] = []
      const stop = database.onCommit(({ mails }) => heard.push(mails))
      await putMails(database, mail('a'), mail('b'))
      await putMails(database, mail('a', { due: NOW + 1 }))
      await database.write((tx) => tx.mails.remove('a'))
      expect(heard).toEqual([true, true])
      stop()
    })

    test('are neither there nor announced when their unit or part failed', async () => {
      await using database = await createDatabase(openStore)
      let announced = 0
      const stop = database.onCommit(() => (announced += 1))
      const failing = database.write((tx) => {
        tx.mails.put(mail('a'))
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      await database.write((tx) => {
        const part = () =>
          tx.attempt(() => {
            tx.mails.put(mail('b'))
            throw new Error('expected')
          })
        expect(part).toThrow()
      })
      expect(await dueIn(database, NOW)).toEqual([])
      expect(announced).toBe(0)
      stop()
    })
  })
}

export function mail(id: string, changes: Partial<QueuedMail> = {}): QueuedMail {
  return {
    id,
    recipient: recipientOf('alice@example.com'),
    sealed: 'v1.sealed',
    attempts: 0,
    created: NOW,
    due: NOW,
    expires: NOW + 1,
    ...changes,
  }
}

async function putMails(database: Database, ...mails: QueuedMail[]): Promise<void> {
  await database.write((tx) => {
    for (const each of mails) tx.mails.put(each)
  })
}

async function dueIn(database: Database, now: number, limit = 10): Promise<string[]> {
  const due = await database.read((tx) => tx.mails.due(now, limit))
  return due.map(({ id }) => id)
}
