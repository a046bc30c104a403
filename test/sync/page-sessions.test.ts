import { expect, test } from 'bun:test'
import type { CommitUnit, ReadTx } from '../../src/domain/store/store'
import { createPageSessions } from '../../src/sync/page-sessions'
import type { Session } from '../../src/sync/session'
import type { Page } from '../../src/sync/socket'

const OTHER: CommitUnit = {
  revision: 1,
  realms: [],
  tables: [],
  subjects: [],
  records: [],
  programPart: null,
  subject: null,
  client: null,
}
const POLICY: CommitUnit = { ...OTHER, records: ['origins https://a.example'] }

/** The transaction is handed on to the page, which needs none here. */
const TX = {} as ReadTx

function setup() {
  const listed = new Set(['https://a.example', 'https://b.example'])
  const muted: string[] = []
  const reports: unknown[] = []
  let looks = 0
  let failure: Error | undefined
  const pages = createPageSessions((error) => reports.push(error))
  const open = (identity: string, origin?: string) => {
    const page: Page | undefined =
      origin === undefined
        ? undefined
        : {
            origin,
            refusal: `not ${origin}`,
            isAllowed() {
              looks += 1
              if (failure !== undefined) throw failure
              return listed.has(origin)
            },
          }
    const client = { identity, knowsBlobRefs: true, page }
    const session = {
      client,
      phase: 'waiting',
      isDoubted: false,
      mute(reason: string) {
        session.phase = 'muted'
        muted.push(`${identity}: ${reason}`)
      },
      doubt: () => void (session.isDoubted = true),
    }
    const fake = session as unknown as Session
    pages.add(fake)
    return fake
  }
  return {
    pages,
    listed,
    muted,
    reports,
    open,
    looks: () => looks,
    fail: (error: Error | undefined) => void (failure = error),
  }
}

test('pages of an origin that was removed are muted once, with a look-up for each origin', async () => {
  const { pages, listed, muted, open, looks } = setup()
  for (let number = 0; number < 100; number += 1) open(`a${number}`, 'https://a.example')
  open('b', 'https://b.example')
  open('program')
  listed.delete('https://a.example')
  pages.hear(POLICY)
  expect(pages.areDue).toBe(true)
  pages.dismiss(TX)
  expect({ areDue: pages.areDue, looks: looks(), muted: muted.length }).toEqual({
    areDue: false,
    looks: 2,
    muted: 100,
  })
  expect(muted[0]).toBe('a0: not https://a.example')
  pages.hear(POLICY)
  pages.dismiss(TX)
  expect(muted).toHaveLength(100)
})

test('changes of objects, realms and users are no reason to look', () => {
  const { pages, open } = setup()
  pages.hear(POLICY)
  expect(pages.areDue).toBe(false)
  open('a', 'https://a.example')
  for (const unit of [
    { ...OTHER, records: ['clients c1'] },
    { ...OTHER, realms: [1] as unknown as CommitUnit['realms'] },
    { ...OTHER, tables: ['items'] },
    { ...OTHER, subjects: ['alice'] },
  ]) {
    pages.hear(unit)
    expect(pages.areDue).toBe(false)
  }
})

test('nothing is kept of a page that was closed', async () => {
  const { pages, open, looks } = setup()
  const session = open('a', 'https://a.example')
  pages.remove(session)
  pages.remove(open('program'))
  pages.hear(POLICY)
  expect(pages.areDue).toBe(false)
  pages.dismiss(TX)
  expect(looks()).toBe(0)
})

test('a look that fails is reported, and repeated before the page hears anything', async () => {
  const { pages, muted, reports, open, fail } = setup()
  const session = open('a', 'https://a.example')
  const damage = new Error('damaged')
  fail(damage)
  pages.hear(POLICY)
  pages.dismiss(TX)
  expect({ reports, isDoubted: session.isDoubted, muted }).toEqual({
    reports: [damage],
    isDoubted: true,
    muted: [],
  })
})

test('while the database cannot be read, no pages are due', () => {
  const { pages, open } = setup()
  open('a', 'https://a.example')
  pages.resume()
  expect(pages.areDue).toBe(false)
  pages.hear(POLICY)
  pages.postpone()
  expect(pages.areDue).toBe(false)
  pages.postpone()
  pages.resume()
  expect(pages.areDue).toBe(true)
})
