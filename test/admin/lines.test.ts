import { expect, test } from 'bun:test'
import { createLineSplitter } from '../../src/admin/page/server/lines'

test('lines come whole, however the text is cut', () => {
  const split = createLineSplitter()
  expect(['{"a"', ':1}\n{"b":2}\n\n{', '"c":3}', '\n{'].map(split)).toEqual([
    [],
    ['{"a":1}', '{"b":2}'],
    [],
    ['{"c":3}'],
  ])
})
