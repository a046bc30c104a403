import { describe, expect, test } from 'bun:test'
import { countTurns } from '../../timing'
import * as fc from 'fast-check'
import { JSON_LIMITS, parseJson } from '../../../src/domain/json/scan'
import { scanInSlices, SLICE } from '../../../src/domain/json/slices'
import { SatchelError } from '../../../src/domain/value/error'

const LIMITS = { ...JSON_LIMITS, properties: 50_000 }

async function inSlices(input: string | Uint8Array, slice?: number, limits = LIMITS) {
  const bytes = typeof input === 'string' ? Buffer.from(input) : input
  return await scanInSlices(bytes, limits, slice).then((json) => json.parse())
}

/** The value, or the sentence of the refusal. */
async function outcomeOf(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() }
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    return { code: error.code, message: error.message }
  }
}

/** More with SATCHEL_RUNS=10000. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 300)

const spaced = fc.json({ maxDepth: 5 }).chain((text) =>
  fc.constantFrom('', ' ', '\n', '\r\n\t').map((space) =>
    // Strings stay as they are when it is parsed: a space inside one only changes its value.
    text.replaceAll(/[[\]{},:]/g, (mark) => space + mark + space),
  ),
)

describe('JSON that is parsed in slices', () => {
  test('has the value and the refusals that it has when it is parsed at once', async () => {
    const texts = [
      '[1,[2,3,[4,5,6],7],8,[9]]',
      '{"a":[1,2,3,4,5,6],"b":{"c":{"d":[[],{},[1]]}},"a":{"x":[7,8,9,10]}}',
      '{"__proto__":[1,2,3,4,5,6,7],"2":0,"1":[1,2,3,4,5],"x":1}',
      '\ufeff[1,2,3,4,5,6,[1,2,3]] ',
      '["€uro","\\"[{","\\u00e9",[[[[[["deep"]]]]]]]',
    ]
    for (const text of texts) {
      for (const slice of [1, 2, 3, 5, 8, 13, 100]) {
        const outcome = await outcomeOf(() => inSlices(text, slice))
        const expected = await outcomeOf(() => parseJson(Buffer.from(text), LIMITS))
        expect({ text, slice, outcome }).toEqual({ text, slice, outcome: expected })
        expect(JSON.stringify(outcome)).toBe(JSON.stringify(expected))
      }
    }
  })

  test('does so for any text, whole or broken anywhere', async () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.constantFrom('', ',', ']', '}', '[', '{', '"', ':', 'x', '\\'),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(spaced, fc.json({ maxDepth: 5, noUnicodeString: false })),
        fc.integer({ min: 1, max: 12 }),
        fc.option(damage),
        async (text, slice, damaged) => {
          const at = damaged === null ? 0 : damaged[0] % (text.length + 1)
          const sent = damaged === null ? text : text.slice(0, at) + damaged[1] + text.slice(at + 1)
          const bytes = Buffer.from(sent)
          const expected = await outcomeOf(() => parseJson(bytes, LIMITS))
          expect(await outcomeOf(() => inSlices(bytes, slice))).toEqual(expected)
        },
      ),
      { numRuns: RUNS },
    )
  })

  test('is refused where it is not UTF-8', async () => {
    const bytes = Buffer.from(`[1,2,3,"xx",${'4,'.repeat(20)}5]`)
    bytes[8] = 0xff
    expect(await outcomeOf(() => inSlices(bytes, 4))).toEqual({
      code: 'INVALID_REQUEST',
      message: 'The body is not well-formed UTF-8',
    })
  })

  const words = Array.from(
    { length: 90_000 },
    (_, n) => `{"id":"k${n}","text":"${'y'.repeat(120)}"}`,
  )
  const property = (from: number) => (_: unknown, n: number) => `"k${from + n}":${n}`
  const wide = Array.from(
    { length: 8 },
    (_, n) => `"o${n}":{${Array.from({ length: 50_000 }, property(n * 50_000)).join(',')}}`,
  )

  test.each([
    ['an array of objects', `[${words.join(',')}]`, undefined],
    [
      'one that is broken at its end',
      `[${words.join(',')},{"id":]`,
      'a value is expected at line 1',
    ],
    ['objects full of properties', `{${wide.join(',')}}`, undefined],
    [
      'such objects, broken at their end',
      `{${wide.join(',')}`,
      'a comma or "}" is expected at line 1',
    ],
    [
      'brackets that nobody closes',
      `[${'[1],'.repeat(200_000)}[`,
      'is expected at line 1, column 800003',
    ],
  ])('lets others have a turn after every few slices: %s', async (_, text, message) => {
    const bytes = Buffer.from(text)
    using counter = countTurns()
    const outcome = await outcomeOf(() => inSlices(bytes))
    const { turns } = counter
    // No slice is longer than two, and the scan has turns of its own.
    expect(turns).toBeGreaterThan(bytes.length / SLICE / 2)
    if (message === undefined) expect(outcome).toEqual({ value: JSON.parse(text) as unknown })
    else expect(JSON.stringify(outcome)).toContain(message.replaceAll('"', '\\"'))
  })

  test('may have 50,000 properties in an object, not one more', async () => {
    const object = (count: number) => `[{${Array.from({ length: count }, property(0)).join(',')}}]`
    expect(await outcomeOf(() => inSlices(object(50_000)))).toHaveProperty('value')
    const refusal = {
      code: 'UNPROCESSABLE',
      message:
        'An object may have 50000 properties: split it, import a file with satchel import, or change the setting maxProperties',
    }
    expect(await outcomeOf(() => inSlices(object(50_001)))).toEqual(refusal)
    expect(await outcomeOf(() => parseJson(object(50_001), LIMITS))).toEqual(refusal)
    const many = `[${`${object(30_000)},`.repeat(3)}[${'0,'.repeat(60_000)}0]]`
    expect(await outcomeOf(() => inSlices(many))).toHaveProperty('value')
  })
})
