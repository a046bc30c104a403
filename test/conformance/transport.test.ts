import { describe, expect, test } from 'bun:test'
import {
  b64LexDecode,
  b64LexEncode,
  builtInTypeDefs,
  FakeBlob,
  fakeFileTypeDef,
  FakeFile,
  TypesonSimplified,
  undefinedTypeDef,
} from 'dexie-cloud-common'
import { setupData } from '../http/setup'
import { setupExecutable } from '../promises/setup'
import { share } from '../setup'

/**
 * conformance.md, section 0: transport and encoding, as far as the REST interface goes. The types
 * are written and read by the clients' own library.
 */

const TSON = TypesonSimplified(builtInTypeDefs, fakeFileTypeDef, undefinedTypeDef)

const ALICE = 'alice@example.com'
describe('typed values', () => {
  const bytes = new Uint8Array([0, 1, 2, 250, 255, 128, 64, 32])
  const b64 = Buffer.from(bytes).toString('base64')
  const lex = b64LexEncode(bytes)

  /** The value, and its exact wire form by table 1.2. */
  const TABLE: Readonly<Record<string, readonly [value: unknown, wire: unknown]>> = {
    Date: [new Date(0), { $t: 'Date', v: '1970-01-01T00:00:00.000Z' }],
    'invalid Date': [new Date(Number.NaN), { $t: 'Date', v: 'NaN' }],
    NaN: [Number.NaN, { $t: 'number', v: 'NaN' }],
    Infinity: [Infinity, { $t: 'number', v: 'Infinity' }],
    '-Infinity': [-Infinity, { $t: 'number', v: '-Infinity' }],
    undefined: [undefined, { $t: 'undefined' }],
    bigint: [2n ** 70n, { $t: 'bigint', v: '1180591620717411303424' }],
    Set: [new Set([1, 'a']), { $t: 'Set', v: [1, 'a'] }],
    Map: [new Map([['a', 1]]), { $t: 'Map', v: [['a', 1]] }],
    ArrayBuffer: [bytes.slice().buffer, { $t: 'ArrayBuffer', v: lex }],
    Int8Array: [new Int8Array(bytes.buffer), { $t: 'Int8Array', v: lex }],
    Uint8Array: [bytes, { $t: 'Uint8Array', v: lex }],
    Uint8ClampedArray: [new Uint8ClampedArray(bytes), { $t: 'Uint8ClampedArray', v: lex }],
    Int16Array: [new Int16Array(bytes.buffer), { $t: 'Int16Array', v: lex }],
    Uint16Array: [new Uint16Array(bytes.buffer), { $t: 'Uint16Array', v: lex }],
    Int32Array: [new Int32Array(bytes.buffer), { $t: 'Int32Array', v: lex }],
    Uint32Array: [new Uint32Array(bytes.buffer), { $t: 'Uint32Array', v: lex }],
    Float32Array: [new Float32Array(bytes.buffer), { $t: 'Float32Array', v: lex }],
    Float64Array: [new Float64Array(bytes.buffer), { $t: 'Float64Array', v: lex }],
    BigInt64Array: [new BigInt64Array(bytes.buffer), { $t: 'BigInt64Array', v: lex }],
    BigUint64Array: [new BigUint64Array(bytes.buffer), { $t: 'BigUint64Array', v: lex }],
    DataView: [new DataView(bytes.buffer), { $t: 'DataView', v: lex }],
    Blob: [new FakeBlob(bytes.slice().buffer, 'a/b'), { $t: 'Blob', v: b64, type: 'a/b' }],
  }

  const shared = share(setupData)

  test.each(Object.entries(TABLE))('4: %s round-trips exactly as in the table', async (_, row) => {
    const [value, wire] = row
    const alice = await shared().as(ALICE)
    const body = TSON.stringify({ id: 'a', value, inner: { value } })
    expect(JSON.parse(body)).toEqual({ id: 'a', value: wire, inner: { value: wire } })
    const headers = { 'content-type': 'application/json' }
    expect((await alice.send('POST', '/my/plain', { body, headers })).status).toBe(200)
    for (const { text } of [await alice.get('/my/plain/a'), await alice.get('/my/plain')]) {
      const [object] = [JSON.parse(text) as unknown].flat() as [Record<string, unknown>]
      expect(object).toMatchObject({ value: wire as object, inner: { value: wire } })
      const revived = TSON.parse(text) as { value: unknown } | { value: unknown }[]
      const [{ value: back }] = [revived].flat() as [{ value: unknown }]
      if (back instanceof Blob) expect(new Uint8Array(await back.arrayBuffer())).toEqual(bytes)
      else expect(TSON.stringify({ back })).toBe(TSON.stringify({ back: value }))
    }
  })

  test('4: a File round-trips in its wire form, a PropModification is never stored', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    const blob = new FakeBlob(bytes.slice().buffer, 'image/png')
    const file = new FakeFile(blob, 'ü.png', new Date(0))
    const text = TSON.stringify({ id: 'a', file })
    const sent = JSON.parse(text) as object
    expect(sent).toMatchObject({ file: { $t: 'File', v: b64, name: 'ü.png' } })
    await alice.post('/my/plain', sent)
    expect((await alice.get('/my/plain/a')).body).toMatchObject(sent)
    for (const modification of [{ $t: 'PropModification', add: 2 }, { '@@propmod': { add: 2 } }]) {
      expect((await alice.post('/my/plain', { ...sent, modification })).status).toBe(422)
    }
    expect((await alice.get('/my/plain/a')).body).toMatchObject(sent)
  })

  test('5: keys of users that begin with "$" are written with one more, and come back so', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    const object = { id: 'a', $ts: 1, $t: 'x', $: 2, $$x: 3, in: [{ $deep: { $t: null } }] }
    const body = TSON.stringify(object)
    expect(body).toContain('"$$ts":1')
    expect(body).toContain('"$$t":"x"')
    expect((await alice.send('POST', '/my/plain', { body })).status).toBe(200)
    const { text } = await alice.get('/my/plain/a')
    expect(text).toContain('"$$ts":1')
    expect(TSON.parse(text)).toEqual({ ...object, realmId: ALICE, owner: ALICE })
    const plain = await alice.post('/my/plain', { id: 'b', $ts: 1 })
    expect(plain.status).toBe(422)
    expect(plain.text).toContain('$$ts')
  })

  test('6: b64lex for buffers and arrays, standard base64 for blobs', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    for (const [hex, expected] of [
      ['01', '0G--'],
      ['0102', '0G8-'],
      ['0102faff', '0GBv|l--'],
      ['000102', '0042'],
    ] as const) {
      const array = new Uint8Array(Buffer.from(hex, 'hex'))
      const blob = new FakeBlob(array.slice().buffer, '')
      const body = TSON.stringify({ id: 'a', array, buffer: array.slice().buffer, blob })
      const stored = await alice.send('POST', '/my/plain', { body })
      expect(stored.body).toMatchObject({
        array: { v: expected },
        buffer: { v: expected },
        blob: { v: Buffer.from(hex, 'hex').toString('base64') },
      })
      const { array: wire } = stored.body as { array: { v: string } }
      expect(new Uint8Array(b64LexDecode(wire.v))).toEqual(array)
    }
  })

  test('7, 9: any field of a sync may be undefined, and its answer has no bigint', async () => {
    const alice = await shared().as(ALICE)
    const none = { $t: 'undefined' }
    const own = { txid: 't1', userId: ALICE, ts: 1, opNo: 1 }
    const any = { type: 3, lower: none, upper: none, lowerOpen: none, upperOpen: none }
    const above = { type: 2, lower: 'x', upper: none, lowerOpen: false, upperOpen: none }
    const values = [{ id: 'u1', realmId: ALICE, owner: ALICE, gone: none }]
    const muts = [
      { ...own, type: 'insert', keys: ['u1'], values, changeSpecs: none, criteria: none, rev: 1 },
      { ...own, type: 'update', keys: ['u1'], changeSpecs: [{ more: none }], rev: none },
      {
        ...own,
        type: 'modify',
        keys: [],
        criteria: { index: none, range: any },
        changeSpec: { n: 1 },
      },
      { ...own, type: 'delete', keys: [], criteria: { index: 'n', range: above } },
    ]
    const answer = await alice.send('POST', '/sync', {
      body: JSON.stringify({
        v: 3,
        dbID: none,
        clientIdentity: 'phone',
        schema: { plain: { markedForSync: true, primaryKey: none, idPrefix: none, yProps: none } },
        lastPull: none,
        baseRevs: [],
        changes: [{ table: 'plain', muts }],
        y: none,
        dxcv: none,
      }),
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ rejections: [], serverRevision: expect.any(String) })
    expect(answer.text).not.toContain('bigint')
    expect((await alice.get('/my/plain/u1')).body).toMatchObject({ id: 'u1', n: 1 })
  })

  test('8: no array in any response contains undefined', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    const array = [1, undefined, [undefined], { x: [undefined] }, new Set([undefined])]
    const body = TSON.stringify({ id: 'a', array, map: new Map([[undefined, undefined]]) })
    expect(body).toContain('{"$t":"undefined"}')
    const answers = [
      await alice.send('POST', '/my/plain', { body: `[${body}]` }),
      await alice.get('/my/plain'),
      await alice.get('/my/plain/a'),
    ]
    for (const { status, text } of answers) {
      expect(status).toBe(200)
      expect(undefinedInArrays(JSON.parse(text))).toBe(0)
      const [object] = [TSON.parse(text) as unknown].flat() as [{ array: unknown[] }]
      // The clients' parser makes a plain object of an array that has one.
      expect(Array.isArray(object.array)).toBe(true)
      expect(object.array[1]).toBeNull()
    }
  })
})

function undefinedInArrays(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  const here = members.filter(
    (member) => Array.isArray(value) && (member as { $t?: string } | null)?.$t === 'undefined',
  )
  return here.length + members.reduce((sum: number, member) => sum + undefinedInArrays(member), 0)
}
