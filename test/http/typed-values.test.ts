import { describe, expect, test } from 'bun:test'
import {
  builtInTypeDefs,
  fakeFileTypeDef,
  TypesonSimplified,
  undefinedTypeDef,
} from 'dexie-cloud-common'
import * as fc from 'fast-check'
import { isNameText } from '../../src/domain/value/key'
import { ALICE, BOB, setupData } from './setup'

/** The clients' own library, with the types that the add-on and the SDK register. */
const TSON = TypesonSimplified(builtInTypeDefs, fakeFileTypeDef, undefinedTypeDef)

describe('typed values (protocol.md §1.2)', () => {
  test('of all kinds are kept as they came, unknown ones with any content', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const values = [
      { $t: 'Unheard', v: [1, { x: null }], more: true },
      { $t: '', v: 1 },
      { $t: 'File', v: 'AAEC', type: 'a/b', name: 'ü', lastModified: '2024-01-01T00:00:00.000Z' },
      { $t: 'URL', href: 'https://example.com/?a=b' },
      { _bt: 'Blob', v: 'AAEC', ct: 'image/png' },
      { $t: 'undefined' },
    ]
    const object = { id: 'a', ...Object.fromEntries(values.map((value, n) => [`p${n}`, value])) }
    expect((await alice.post('/my/plain', object)).status).toBe(200)
    expect((await alice.get('/my/plain/a')).body).toEqual({
      ...object,
      realmId: ALICE,
      owner: ALICE,
    })
  })

  test.each([
    [{ p: { $t: 'Date', v: 'no date' } }, 'p', 'ISO 8601'],
    [{ p: { $t: 'Uint8Array', $$ref: 'x' } }, 'p', 'b64lex'],
    [{ p: [{ $t: 'PropModification', add: 2 }] }, 'p.0', 'an operation of sync'],
    [{ p: { '@@propmod': { add: 2 } } }, 'p.@@propmod', 'an operation of sync'],
    [{ p: { $t: 'constructor' } }, 'p', 'cannot read as a type'],
    [{ $t: 'Date', v: 'NaN' }, '$t', 'is no object'],
  ])(
    'that clients cannot read are refused, nothing of the request is stored: %j',
    async (value, path, problem) => {
      await using server = await setupData()
      const alice = await server.as(ALICE)
      for (const [body, place] of [
        [{ id: 'a', ...value }, path],
        [[{ id: 'b' }, { id: 'a', ...value }], `[1].${path}`],
      ] as const) {
        const answer = await alice.post('/my/plain', body)
        expect(answer).toMatchObject({
          status: 422,
          body: { code: 'UNPROCESSABLE', reason: place },
        })
        expect((answer.body as { message: string }).message).toContain(problem)
      }
      expect((await alice.get('/my/plain')).text).toBe('[]')
    },
  )

  test('cannot be planted in what another person reads by an invitation', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const poison = { $t: 'Uint16Array', v: '0G--' }
    const realm = { realmId: 'rlm-trap', name: 'x' }
    expect((await bob.post('/my/realms', { ...realm, poison })).status).toBe(422)
    expect((await bob.post('/my/realms', realm)).status).toBe(200)
    const member = { realmId: 'rlm-trap', email: ALICE, invite: true }
    expect((await bob.post('/my/members', { ...member, poison })).status).toBe(422)
    expect((await bob.post('/my/members', member)).status).toBe(200)
    expect(TSON.parse((await alice.get('/my/members')).text)).toBeArray()
  })

  test('the mark of blob references is the client’s: kept as it came (spec.md §2.7)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const mark of [1, 0, true, 'x', null]) {
      const stored = await alice.post('/my/plain', { id: 'a', _hasBlobRefs: mark })
      expect(stored.body).toMatchObject({ _hasBlobRefs: mark })
    }
    expect((await alice.post('/my/plain', { id: 'a' })).body).not.toHaveProperty('_hasBlobRefs')
  })
})

describe('JSON', () => {
  test('of any kind comes back equal, its text written once', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const names = fc
      .string({ unit: 'binary' })
      .filter((name) => !/^\$(?!\$)/.test(name) && !/^(?:id|realmId|owner)$/.test(name))
      .filter(isNameText)
    const numbers = fc.oneof(
      fc.integer(),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.string({ unit: 'binary' }),
        numbers,
        fc.constantFrom(null, true, false),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(names, tie('value'), { maxKeys: 5 }),
      ),
    }))
    const objects = fc.array(fc.dictionary(names, value), { minLength: 100, maxLength: 100 })
    let run = 0
    await fc.assert(
      fc.asyncProperty(objects, async (sent) => {
        run += 1
        const prefix = `r${run}-`
        const texts = sent.map((object, n) => {
          const rest = JSON.stringify(object).slice(1)
          return `{"id":"${prefix}${n}"${rest === '}' ? '' : ','}${rest}`
        })
        const stored = await alice.send('POST', '/my/plain', { body: `[${texts.join(' ,\n')}]` })
        const filled = texts.map((text) => {
          const own = JSON.stringify({ realmId: ALICE, owner: ALICE }).slice(1)
          return `${JSON.stringify(JSON.parse(text)).slice(0, -1)},${own}`
        })
        expect(stored.text).toBe(`[${filled.join(',')}]`)
        const one = await alice.get(`/my/plain/${prefix}7`)
        expect(one.text).toBe(filled[7] ?? '')
      }),
      { numRuns: 10, seed: 7 },
    )
  })

  test('is written anew: blanks go, escapes are resolved, numbers get their shortest form', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const body =
      ' { "id" : "\\u0061" ,\n "n" : 1.50e1, "z": -0, "s" : "\\/\\ud83d\\ude00\\u0000\\ud800" } '
    const { text } = await alice.send('POST', '/my/plain', { body })
    const rest = `"realmId":"${ALICE}","owner":"${ALICE}"}`
    expect(text).toBe(`{"id":"a","n":15,"z":0,"s":"/😀\\u0000\\ud800",${rest}`)
  })

  test('the last of equal names wins, at every depth', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const body =
      '{"id":"x","id":"a","realmId":"rlm-public","realmId":"' +
      ALICE +
      '","v":1,"in":{"x":1,"x":2},"v":2,"__proto__":1,"__proto__":{"p":2}}'
    expect((await alice.send('POST', '/my/plain', { body })).status).toBe(200)
    expect((await alice.get('/my/plain/a')).text).toBe(
      `{"id":"a","realmId":"${ALICE}","v":2,"in":{"x":2},"__proto__":{"p":2},"owner":"${ALICE}"}`,
    )
    expect((await alice.get('/my/plain/x')).status).toBe(404)
    expect((await alice.get('/my/plain?v=1')).text).toBe('[]')
    expect((await alice.get('/my/plain?in.x=2')).body).toBeArrayOfSize(1)
  })

  test.each([
    ['9007199254740993', 'n'],
    ['-9007199254740992', 'n'],
    ['1e400', 'n'],
    ['-1e400', 'n'],
    ['12345678901234567890', 'n'],
    ['[0,[1e999]]', 'n.1.0'],
    ['{"a":[{"b":1e999}]}', 'n.a.0.b'],
    ['{"__proto__":1e999}', 'n.__proto__'],
    ['{"$t":"Set","v":[1e999]}', 'n.v.0'],
  ])(
    'refuses the number %s, which would come back as another one, with its path',
    async (n, path) => {
      await using server = await setupData()
      const alice = await server.as(ALICE)
      const single = await alice.send('POST', '/my/plain', { body: `{"id":"a","n":${n}}` })
      expect(single).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
      expect((single.body as { reason: string }).reason).toEndWith(path)
      const body = `[{"id":"b"},{"id":"a","n":${n}}]`
      const second = await alice.send('POST', '/my/plain', { body })
      expect((second.body as { reason: string }).reason).toStartWith('[1]')
      expect((second.body as { reason: string }).reason).toEndWith(path)
      expect((await alice.get('/my/plain')).text).toBe('[]')
    },
  )

  test('keeps the numbers that survive', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const numbers = [0, 1.5, -1e-300, 9007199254740991, -9007199254740991, 5e-324, 0.1]
    const { body } = await alice.post('/my/plain', { id: 'a', numbers })
    expect((body as { numbers: number[] }).numbers).toEqual(numbers)
  })

  test.each([
    ['{"id":"a","$ts":1}', '$ts', '$$ts'],
    ['{"id":"a","$":1}', '$', '$$'],
    ['{"id":"a","in":[{"$x":1}]}', '$x', '$$x'],
    ['{"id":"a","$t":1}', '$t', '$$t'],
    ['{"id":"a","v":{"$t":null}}', '$t', '$$t'],
    ['{"id":"a","v":{"$t":{"$t":"x"}}}', '$t', '$$t'],
  ])('refuses the raw key of %s and says how to write it', async (body, key, better) => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const answer = await alice.send('POST', '/my/plain', { body })
    expect(answer).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE', reason: key } })
    expect((answer.body as { message: string }).message).toContain(`write "${better}"`)
    expect((await alice.get('/my/plain')).text).toBe('[]')
  })
})
