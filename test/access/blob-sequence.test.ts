import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Actor, ANONYMOUS } from '../../src/domain/access/actor'
import { findReadableBlob } from '../../src/domain/access/blob'
import { collectBlobs } from '../../src/domain/blob/collection'
import { putBlob } from '../../src/domain/blob/upload'
import { SatchelError } from '../../src/domain/value/error'
import type { Database } from '../../src/domain/store/store'
import { HOUR } from '../auth/setup'
import { ANY_AMOUNT, hashOf, NO_BYTES } from '../domain/blob/setup'
import {
  type BlobWorld,
  changedRows,
  collected,
  erased,
  findBlob,
  forbiddenIn,
  judgeUpload,
  mayRead,
  uploaded,
  written,
} from './blob-oracle'
import { type BlobStep, blobSteps, IDS, type UploadStep } from './blob-sequence'
import { judge, type Operation } from './operation'
import type { Person } from './oracle-world'
import { eraseLeftovers } from './erasure'
import { ERASURE, FIRST_ROWS, PEOPLE, type Step } from './sequence'
import { act, actorFor, complaint, openDatabase, seed, type TestDatabase } from './setup'

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 60)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

interface Life {
  readonly opened: TestDatabase
  state: BlobWorld
  /** The steps that were tried, to explain a failure. */
  readonly story: string[]
}

async function take(life: Life, step: BlobStep): Promise<void> {
  const { opened, state } = life
  const { database, clock } = opened
  switch (step.kind) {
    case 'upload':
      await upload(life, step)
      break
    case 'wait':
      clock.advance(step.hours * HOUR)
      life.story.push(`${step.hours} hours pass`)
      life.state = { ...state, now: clock.now() }
      break
    case 'collect':
      life.story.push('blobs are collected')
      await collectBlobs(database, NO_BYTES, clock.now())
      life.state = collected(state)
      break
    case 'write':
      await write(life, step.step)
  }
  const { story } = life
  const complaints = await complaintsAboutReading(database, life.state)
  expect({ story, complaints }).toEqual({ story, complaints: [] })
}

async function upload(life: Life, step: UploadStep): Promise<void> {
  const { opened, state, story } = life
  const { person, isGlobal, id, text, type } = step
  const actor = actorFor(person, isGlobal ? 'all' : 'my')
  const now = opened.clock.now()
  const fields = { id, hash: hashOf(text), size: text.length, type, now }
  story.push(
    `${person.id} uploads ${JSON.stringify(fields)}${isGlobal ? ' with GLOBAL_WRITE' : ''}`,
  )
  const code = await codeOf(
    putBlob(opened.database, actor, { ...fields, file: fields.hash }, ANY_AMOUNT),
  )
  const verdict = judgeUpload(state, person, step, isGlobal)
  if (verdict !== 'either') {
    const expected = verdict === 'conflict' ? 'CONFLICT' : undefined
    expect({ story, code }).toEqual({ story, code: expected })
  }
  if (code === undefined) life.state = uploaded(state, person, step)
}

async function write(life: Life, step: Step): Promise<void> {
  const { opened, state, story } = life
  const { person } = step
  if (step.name === ERASURE) {
    await eraseLeftovers(opened.database)
    story.push('leftovers are erased')
    life.state = erased(state)
  }
  const operation = step.operationIn(state.world)
  if (operation === undefined) return
  story.push(`${person.id} ${step.name} ${JSON.stringify(operation)}`)
  const verdict = judge(state.world, person, operation)
  const answer = await act(opened.database, person, operation)
  const isUnreadable = answer instanceof SatchelError && answer.code === 'BLOB_NOT_READABLE'
  const next = verdict.allowed ? written(state, verdict.world) : undefined
  const isForbidden = namesForbidden(state, person, operation, next)
  const problem =
    isForbidden && (isUnreadable || next !== undefined)
      ? isUnreadable
        ? undefined
        : 'stored, but a blob in it is not for its writer to share'
      : complaint(verdict, answer)
  expect({ story, problem }).toEqual({ story, problem: undefined })
  if (next !== undefined && !isUnreadable) life.state = next
}

/** Whether a request would make a row name a blob that is not its writer's to share. */
function namesForbidden(
  state: BlobWorld,
  person: Person,
  operation: Operation,
  next: BlobWorld | undefined,
): boolean {
  if (operation.verb === 'remove' || operation.view !== 'my') return false
  if (next === undefined) {
    return operation.objects.some(
      (value) => forbiddenIn(state, person, undefined, value).length > 0,
    )
  }
  return changedRows(state.world, next.world).some(
    ({ old, row }) => forbiddenIn(state, person, old?.value, row.value).length > 0,
  )
}

async function complaintsAboutReading(database: Database, state: BlobWorld): Promise<string[]> {
  const complaints: string[] = []
  const check = async (id: string, actor: Actor, isReader: boolean, absent: string) => {
    const expected = isReader ? hashOf(findBlob(state, id)?.text ?? '') : absent
    const read = findReadableBlob(database, actor, `1:${id}`).then(({ hash }) => hash)
    const found = await read.catch(codeIn)
    if (found !== expected) complaints.push(`${actor.subject} of ${id}: ${found}, not ${expected}`)
  }
  for (const id of IDS) {
    for (const person of PEOPLE) {
      await check(id, actorFor(person, 'my'), mayRead(state, person, id), 'UNKNOWN_BLOB')
    }
    await check(id, ANONYMOUS, mayRead(state, null, id), 'INVALID_TOKEN')
    const auditor = actorFor({ id: 'auditor' }, 'all')
    await check(id, auditor, findBlob(state, id) !== undefined, 'UNKNOWN_BLOB')
  }
  return complaints
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(() => undefined, codeIn)
}

function codeIn(error: unknown): string {
  if (error instanceof SatchelError) return error.code
  throw error
}

test(
  'after any sequence of operations, each user can read exactly the blobs of the access model',
  async () => {
    const property = fc.asyncProperty(blobSteps, async (drawn) => {
      await using opened = await openDatabase()
      const { database, clock } = opened
      const world = await seed(database, FIRST_ROWS)
      const state = { world, blobs: [], limbo: [], now: clock.now() }
      const life: Life = { opened, state, story: [] }
      for (const step of drawn) await take(life, step)
    })
    await fc.assert(property, { numRuns: RUNS, seed: SEED })
  },
  60_000 + RUNS * 1_000,
)
