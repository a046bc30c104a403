import { expect, test } from 'bun:test'
import { fileNameOf } from '../../src/admin/page/files/blob'

test('the file of a blob has its reference and the ending of its type as its name', () => {
  for (const [type, ending] of [
    ['image/png', 'png'],
    ['image/jpeg', 'jpg'],
    ['image/svg+xml', 'svg'],
    ['text/plain;charset=utf-8', 'txt'],
    ['Application/JSON', 'json'],
    ['application/vnd.ms-excel', 'bin'],
    ['', 'bin'],
    ['../../x', 'bin'],
    ['__proto__', 'bin'],
  ] as const) {
    expect(fileNameOf({ ref: '1:a/b', type })).toBe(`1-a-b.${ending}`)
  }
})
