import { describe, expect, test } from 'bun:test'
import { isJson } from './is-json'
import * as fc from 'fast-check'
import { SatchelError } from '../../../src/domain/value/error'
import { JSON_LIMITS, parseJson } from '../../../src/domain/json/scan'
import { splitJson } from '../../../src/domain/json/split'
import type { JsonPart, SplitRules } from '../../../src/domain/json/split'
import { collect, cut, cutAt, cuts, refusal } from '../chunks'

const IMPORT_FILE: SplitRules = {
  name: 'The file',
  enters: (path) => path.length === 0 || (path[0] === 'data' && path.length <= 3),
}

describe('splitJson', () => {
  test('gives the sections of an import file whole and its objects one by one', async () => {
    const text = `{
  "schema": {"items": "@id"}, "sealed": true,
  "data": { "rlm1": { "items": { "itm\\u0031": {"a": [1, "}"]},
    "itm2": null } }, "rlm2": {} },
  "roles": { }
}`
    expect(await collect(splitJson(cut(text, 7), IMPORT_FILE))).toEqual([
      { path: ['schema'], text: '{"items": "@id"}', line: 2, column: 13 },
      { path: ['sealed'], text: 'true', line: 2, column: 41 },
      { path: ['data', 'rlm1', 'items', 'itm1'], text: '{"a": [1, "}"]}', line: 3, column: 47 },
      { path: ['data', 'rlm1', 'items', 'itm2'], text: 'null', line: 4, column: 13 },
      { path: ['roles'], text: '{ }', line: 5, column: 12 },
    ])
  })

  test('gives the elements of an array and tells what kind of container it enters', async () => {
    const kinds: string[] = []
    const rules: SplitRules = {
      name: 'The file',
      enters: (path, kind) => {
        kinds.push(`${path.join('/')}:${kind}`)
        return path.length === 0
      },
    }
    const parts = await collect(splitJson(cut('[{"a":1},[2],3 ,"x"]', 3), rules))
    expect(parts.map(({ path, text }) => `${path.join('/')}=${text}`)).toEqual([
      '0={"a":1}',
      '1=[2]',
      '2=3',
      '3="x"',
    ])
    expect(kinds).toEqual([':array', '0:object', '1:array'])
  })

  test('gives the same parts as JSON.parse, wherever the chunks are cut', async () => {
    await fc.assert(
      fc.asyncProperty(jsonFile(), cuts(), fc.nat(4), async (value, places, depth) => {
        const rules = { name: 'The file', enters: (path: readonly string[]) => path.length < depth }
        const text = `\ufeff${JSON.stringify(value, null, places.length % 3)}`
        const parts = await collect(splitJson(cutAt(text, places), rules))
        const parsed = parts.map((part) => [part.path, JSON.parse(part.text) as unknown])
        expect(parsed).toEqual(partsOf(value, depth))
        for (const part of parts) {
          expect(textAt(text, part).startsWith(part.text)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('follows escapes over every cut', async () => {
    const file = { ['a\\\\']: '\\"\\', 'b"': ['\\\\\\', '"\\"', { '\\': '\\' }], c: '\\' }
    const text = JSON.stringify(file)
    for (let length = 1; length <= text.length; length++) {
      const rules = { name: 'The file', enters: (path: readonly string[]) => path.length === 0 }
      const parts = await collect(splitJson(cut(text, length), rules))
      expect(parts.map(({ path, text }) => [path[0], JSON.parse(text) as unknown])).toEqual(
        Object.entries(file),
      )
    }
  })

  test('refuses what JSON.parse refuses, when its parts are parsed', async () => {
    await fc.assert(
      fc.asyncProperty(damagedFile(), cuts(), fc.nat(4), async (text, places, depth) => {
        const rules = { name: 'The file', enters: (path: readonly string[]) => path.length < depth }
        let isAccepted = true
        try {
          for await (const part of splitJson(cutAt(text, places), rules)) {
            parseJson(part.text, JSON_LIMITS, { name: 'The file', start: part })
          }
        } catch (error) {
          if (!(error instanceof SatchelError) || error.code !== 'INVALID_REQUEST') throw error
          expect(error.message).toMatch(/ at line \d+, column \d+$/)
          isAccepted = false
        }
        expect(isAccepted).toBe(isJson(text))
      }),
      { numRuns: 1500 },
    )
  })

  test.each([
    ['', 'a value is expected at line 1, column 1'],
    ['{"data": {\n"rlm1": [], }', 'a key in double quotes is expected at line 2, column 13'],
    ['{"data": {\n"rlm1"', 'a colon is expected at line 2, column 7'],
    ['{"data": {} "x"', 'a comma or "}" is expected at line 1, column 13'],
    ['{"schema": {\n\n "a', 'a double quote is expected at line 3, column 4'],
    ['{"schema": {\n', 'a closing bracket is expected at line 2, column 1'],
    ['{} x', 'the end is expected at line 1, column 4'],
    ['{"data"; 1}', 'a colon is expected at line 1, column 8'],
    ['{"da\\x": 1}', 'a valid escape is expected at line 1, column 5'],
  ])('says where %p breaks off', async (text, place) => {
    for (const length of [1, 5, 100]) {
      const error = await refusal(splitJson(cut(text, length), IMPORT_FILE))
      expect(error.code).toBe('INVALID_REQUEST')
      expect(error.message).toBe(`The file is not valid JSON: ${place}`)
    }
  })

  test('refuses a value that is too great, without holding more of it', async () => {
    let sent = 0
    async function* endless() {
      yield Buffer.from('{"data":{"rlm1":{"items":{"itm1":{"a":"')
      for (; ; sent++) yield Buffer.alloc(1000, 'x')
    }
    const error = await refusal(splitJson(endless(), { ...IMPORT_FILE, maxBytes: 10_000 }))
    expect(error.code).toBe('PAYLOAD_TOO_LARGE')
    expect(error.message).toBe('The file has a value of more than 10000 bytes at line 1, column 34')
    expect(sent).toBe(9)
    const exact = { ...IMPORT_FILE, maxBytes: 4 }
    expect(await collect(splitJson(cut('{"ab":1234}', 100), exact))).toHaveLength(1)
    expect((await refusal(splitJson(cut('{"ab":12345}', 100), exact))).code).toBe(
      'PAYLOAD_TOO_LARGE',
    )
    expect((await refusal(splitJson(cut('{"abc":1}', 2), exact))).code).toBe('PAYLOAD_TOO_LARGE')
  })

  test('refuses bytes that are not UTF-8, naming the place', async () => {
    const bytes = Buffer.concat([Buffer.from('{"a":\n "'), Buffer.from([0xff]), Buffer.from('"}')])
    const error = await refusal(splitJson(cut(bytes, 3), IMPORT_FILE))
    expect(error.message).toBe(
      'The file is not well-formed UTF-8 in what begins at line 2, column 2',
    )
  })
})

/** Objects and arrays to split, and now and then a scalar. */
function jsonFile(): fc.Arbitrary<unknown> {
  return fc
    .jsonValue({ maxDepth: 5, stringUnit: 'grapheme' })
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
}

function damagedFile(): fc.Arbitrary<string> {
  const scrap = fc.constantFrom('', ',', ':', '"', '\\', '[', ']', '{', '}', '1', ' ', 'x', '\n')
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(2), scrap), { maxLength: 2 })
  const file = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value))
  return fc.tuple(file, damage).map(([json, places]) => {
    let text = json
    for (const [place, length, replacement] of places) {
      const at = place % (text.length + 1)
      text = text.slice(0, at) + replacement + text.slice(at + length)
    }
    return text
  })
}

function partsOf(value: unknown, depth: number, path: readonly string[] = []): unknown[][] {
  if (depth === 0 || typeof value !== 'object' || value === null) return [[path, value]]
  return Object.entries(value).flatMap(([name, member]) =>
    partsOf(member, depth - 1, [...path, name]),
  )
}

function textAt(text: string, part: JsonPart): string {
  const lines = Buffer.from(text.replace('\ufeff', '')).toString('latin1').split('\n')
  const rest = lines
    .slice(part.line - 1)
    .join('\n')
    .slice(part.column - 1)
  return Buffer.from(rest, 'latin1').toString()
}
