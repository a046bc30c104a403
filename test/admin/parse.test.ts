import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { parseSteps } from '../../src/admin/page/server/parse'
import { stepsOf } from './steps'

test('a text is read in steps as it is read at once', () => {
  const written = fc.tuple(fc.json(), fc.constantFrom(undefined, 1, '\t'))
  fc.assert(
    fc.property(written, fc.integer({ min: 0, max: 20 }), ([json, space], long) => {
      const text = JSON.stringify(JSON.parse(json), null, space)
      expect(stepsOf(parseSteps(text, long)).value).toEqual(JSON.parse(text))
    }),
    { numRuns: 2_000 },
  )
})

test('names, signs and numbers are read as they are written', () => {
  const text = ` { "__proto__" : {"a":[1,2,[3,[4]]]}, "b\\"\\\\":"]},{\\\\","a":1, "a":-0.5e3 , "c":[ ], "d":{},"x":null} `
  for (let long = 0; long < text.length; long += 1) {
    const { value } = stepsOf(parseSteps(text, long))
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)))
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  }
})

test('a large text takes many steps', () => {
  const value = {
    list: Array.from({ length: 150_000 }, (_, at) => ({ at })),
    text: 'x"'.repeat(1_000_000),
  }
  const { value: read, steps } = stepsOf(parseSteps(JSON.stringify(value)))
  expect(read).toEqual(value)
  expect(steps).toBeGreaterThan(5)
})

test('a text that ends too early is refused', () => {
  const text = '{"a":[1,{"b":"c"}]}'
  for (let end = 0; end < text.length; end += 1) {
    expect(() => stepsOf(parseSteps(text.slice(0, end), 1))).toThrow(SyntaxError)
  }
  expect(() => stepsOf(parseSteps(`${text} 1`, 1))).toThrow(SyntaxError)
})
