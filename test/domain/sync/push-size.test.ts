import { expect, test } from 'bun:test'
import { FIXED_LIMITS } from '../../../src/domain/value/fixed-limits'
import { card, change, connect, only, put, read, setupPush, type WireOperation } from './push-setup'

const IN_X = { index: 'list', range: only('x') }
const KEYS = Array.from({ length: 1_000 }, (_, n) => `card${n}`)

test('a change copies only so much into many objects, by key and with criteria', async () => {
  await using database = await setupPush()
  await put(
    database,
    'cards',
    KEYS.map((id) => card(id, { list: 'x' })),
  )
  const alice = await connect(database, 'alice')
  const most = FIXED_LIMITS.copiedCharacters.most / KEYS.length
  const named = (note: string): WireOperation => ({ ...change('', { note }), keys: KEYS })
  const matching = (note: string): WireOperation => ({
    type: 'modify',
    keys: [],
    criteria: IN_X,
    changeSpec: { note },
  })
  const half = 'x'.repeat(most / 2 + 2_000)
  for (const operations of [
    [named('x'.repeat(most + 2_000))],
    [matching('x'.repeat(most + 2_000))],
    [named(half), named(half)],
    [matching(half), matching(half)],
  ]) {
    const { rejections } = await alice.push(...operations)
    expect(rejections.map(({ name }) => name)).toEqual(['UNPROCESSABLE'])
  }
  expect(await read(database, 'cards', 'card0')).not.toHaveProperty('note')
  // Each transaction counts alone, and an object that is changed alone not at all.
  const note = 'y'.repeat(1_000)
  const large = 'x'.repeat(most + 2_000)
  for (const operation of [named(note), matching(note), change('card1', { note: large })]) {
    expect((await alice.push(operation)).rejections).toEqual([])
  }
  expect(await read(database, 'cards', 'card999')).toMatchObject({ note })
  expect(await read(database, 'cards', 'card1')).toMatchObject({ note: large })
})

test('a transaction changes objects of so many characters together', async () => {
  await using database = await setupPush()
  const keys = ['a', 'b', 'c', 'd', 'e']
  const text = 'x'.repeat(FIXED_LIMITS.reachedCharacters.most / 4)
  for (const key of keys) await put(database, 'cards', [card(key, { text })])
  const alice = await connect(database, 'alice')
  const update = (...some: string[]) => alice.push({ ...change('', { n: 1 }), keys: some })
  const { rejections } = await update(...keys)
  expect(rejections.map(({ name }) => name)).toEqual(['UNPROCESSABLE'])
  expect(await read(database, 'cards', 'a')).not.toHaveProperty('n')
  expect((await update('a', 'b', 'c')).rejections).toEqual([])
  expect(await read(database, 'cards', 'c')).toMatchObject({ n: 1 })
})
