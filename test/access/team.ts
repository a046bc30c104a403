import { expect } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import type { Person, Value } from './oracle-world'
import { type Answer, administrator, as, openDatabase } from './setup'

export const ALICE = { id: 'alice', email: 'alice@example.com' } satisfies Person
export const BOB = { id: 'bob', email: 'bob@example.com' } satisfies Person
export const CAROL = { id: 'carol', email: 'carol@example.com' } satisfies Person
export const MALLORY = { id: 'mallory', email: 'mallory@example.com' } satisfies Person

export const DATE = { $t: 'Date', v: '2030-01-01T10:00:00.000Z' }
export const FULL = { manage: '*' }

/** Alice's team, with Bob in it and Mallory as far in as a test wants her. */
export async function openTeam(mallory?: Value) {
  const opened = await openDatabase()
  const { database } = opened
  const people = {
    admin: administrator(database),
    alice: as(database, ALICE),
    bob: as(database, BOB),
    carol: as(database, CAROL),
    mallory: as(database, MALLORY),
  }
  await people.alice.put('realms', { realmId: 'rlmTeam', name: 'Team' })
  await people.alice.put('todoItems', {
    id: 'tdiTeam',
    realmId: 'rlmTeam',
    title: 'ours',
    done: false,
  })
  await people.alice.put('todoItems', { id: 'tdiAlice', title: 'hers' })
  await people.admin.put('members', {
    id: 'mmbBob',
    realmId: 'rlmTeam',
    userId: 'bob',
    permissions: { add: ['todoItems'] },
  })
  if (mallory !== undefined) {
    await people.admin.put('members', {
      id: 'mmbMallory',
      realmId: 'rlmTeam',
      userId: 'mallory',
      ...mallory,
    })
  }
  return { ...opened, ...people }
}

/** The answer to the caller, as a test compares it. */
export const told = (answer: Answer | Value | string) =>
  answer instanceof SatchelError
    ? { code: answer.code, reason: answer.reason, message: answer.message }
    : answer

export function expectRefused(answer: Answer, code = 'NOT_AUTHORIZED', reason?: string): void {
  expect(told(answer)).toMatchObject({ code, ...(reason === undefined ? {} : { reason }) })
}

export function expectDone(answer: Answer): void {
  expect(told(answer)).toHaveProperty('texts')
}
