import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { SLICE } from '../../../src/domain/json/slices'
import { stringifyInSlices } from '../../../src/domain/json/stringify'
import { countTurns } from '../../timing'

describe('JSON that is written in slices', () => {
  test('has the text that it has when it is written at once', async () => {
    const property = fc.asyncProperty(
      fc.jsonValue({ maxDepth: 5 }),
      fc.integer({ min: 1, max: 200 }),
      async (value, slice) => {
        expect(await stringifyInSlices(value, slice)).toBe(JSON.stringify(value))
      },
    )
    await fc.assert(property, { numRuns: 300 })
  })

  test('leaves out undefined properties, and keeps the names that are numbers or __proto__', async () => {
    const value = JSON.parse('{"b":[[],{},[1,"x"]],"__proto__":[1,2,3],"1":null}') as object
    for (const object of [{ ...value, nothing: undefined }, { nothing: undefined }]) {
      expect(await stringifyInSlices(object, 1)).toBe(JSON.stringify(object))
    }
  })

  test.each([
    ['an array of short texts', Array.from({ length: 200_000 }, (_, n) => `${n}`)],
    ['objects within each other', { a: { b: Array.from({ length: 50_000 }, (_, n) => ({ n })) } }],
    ['properties', Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`name${n}`, n]))],
    ['long texts', Array.from({ length: 20 }, () => 'x'.repeat(SLICE))],
  ])('lets others have a turn after every few slices: %s', async (_, value) => {
    using counter = countTurns()
    const text = await stringifyInSlices(value)
    expect(counter.turns).toBeGreaterThan(text.length / SLICE / 3)
    expect(text).toBe(JSON.stringify(value))
  })

  test('is written at once where it is short', () => {
    expect(stringifyInSlices({ a: [1] })).toBe('{"a":[1]}')
  })
})
