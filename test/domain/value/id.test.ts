import { describe, expect, test } from 'bun:test'
import { b64LexDecode } from 'dexie-cloud-common'
import { createIds, idPrefixFor, randomToken } from '../../../src/domain/value/id'

const NOON = Date.UTC(2026, 10, 21, 12)

describe('newId', () => {
  test('is the prefix, 18 bytes as b64lex and the end of the realm id', () => {
    const ids = createIds({ now: () => NOON })
    const made = [ids.newId('itm', 'foo@demo.local'), ids.newId('itm', 'rlm-public')]
    expect(made.map((id) => [id.slice(0, 3), id.slice(27)])).toEqual([
      ['itm', 'cal'],
      ['itm', 'lic'],
    ])
    const bytes = made.map((id) => b64LexDecode(id.slice(3, 27)))
    expect(bytes.map((all) => Array.from(all.subarray(0, 6)))).toEqual([
      timeBytes(NOON),
      timeBytes(NOON + 1),
    ])
    expect(bytes.map(({ length }) => length)).toEqual([18, 18])
  })

  test('has random bytes that never come twice', () => {
    const ids = createIds({ now: () => NOON })
    const made = Array.from({ length: 20_000 }, () => ids.newId('itm', 'abc').slice(11, 27))
    expect(new Set(made).size).toBe(20_000)
  })

  test('counts a millisecond up for each id made within one', () => {
    const ids = createIds({ now: () => NOON })
    const times = Array.from({ length: 5000 }, () => timeOf(ids.newId('itm', 'abc')))
    expect(times).toEqual(times.map((_, i) => NOON + i))
    expect(ids.highWater).toBe(NOON + 4999)
  })

  test('keeps ids in order when the clock jumps back', () => {
    let now = NOON
    const ids = createIds({ now: () => now })
    const made = [ids.newId('itm', 'zzz')]
    for (now of [NOON - 86_400_000, NOON + 1, NOON + 70_000, 0, NOON + 70_000.5, Number.NaN]) {
      made.push(ids.newId('itm', '000'))
    }
    expect(made.toSorted()).toEqual(made)
  })

  test('keeps ids in order over a restart with an earlier clock', () => {
    const before = createIds({ now: () => NOON })
    const last = before.newId('itm', 'zzz')
    const after = createIds({ now: () => NOON - 5000 })
    after.passOver(before.highWater)
    const next = after.newId('itm', '000')
    expect(timeOf(next)).toBe(NOON + 1)
    expect(next > last).toBe(true)
  })

  test('passes over ids that others made, and never goes back', () => {
    const ids = createIds({ now: () => NOON })
    ids.passOver(NOON + 10)
    expect(timeOf(ids.newId('itm', 'abc'))).toBe(NOON + 11)
    ids.passOver(NOON - 10)
    expect(timeOf(ids.newId('itm', 'abc'))).toBe(NOON + 12)
    expect(ids.highWater).toBe(NOON + 12)
  })

  test('writes every bit of the time', () => {
    const ids = createIds({ now: () => 2 ** 48 - 2 })
    expect(timeOf(ids.newId('itm', 'abc'))).toBe(2 ** 48 - 2)
    expect(timeOf(ids.newId('itm', 'abc'))).toBe(2 ** 48 - 1)
    expect(() => ids.newId('itm', 'abc')).toThrow(RangeError)
  })

  test('stays text when the realm id ends with characters beyond the basic plane', () => {
    const ids = createIds({ now: () => NOON })
    expect(ids.newId('itm', 'a😀😀').slice(27)).toBe('😀')
    expect(ids.newId('itm', 'a😀x').slice(27)).toBe('😀x')
    expect(ids.newId('itm', 'é').slice(27)).toBe('é')
  })
})

describe('randomToken', () => {
  test('is that many random bytes as base64url', () => {
    const tokens = Array.from({ length: 100 }, () => randomToken(32))
    expect(new Set(tokens).size).toBe(100)
    for (const token of tokens) {
      expect(token).toMatch(/^[\w-]{43}$/)
      expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    }
  })
})

describe('idPrefixFor', () => {
  test('chooses what the published client chooses, in the order of declaration', () => {
    const taken = new Set<string>()
    for (const [table, prefix] of Object.entries(CLIENT_PREFIXES)) {
      expect(`${table} ${idPrefixFor(table, taken)}`).toBe(`${table} ${prefix}`)
      taken.add(prefix)
    }
  })

  test('never gives two tables one prefix, nor one that a key cannot begin with', () => {
    const taken = new Set(['mmb', 'rlm'])
    const names = ['#tags', '[list]', '😀', '😀😀', 'ß', 'ßt', 'İxy', '\u007fabc', '$x', '~~']
    for (let i = 0; i < 500; i++) names.push(`items${i}`)
    for (const name of names) {
      const prefix = idPrefixFor(name, taken)
      expect(prefix).toMatch(/^[^#[\p{Cc}][^\p{Cc}]{0,2}$/u)
      expect(prefix.isWellFormed()).toBe(true)
      expect(taken.has(prefix)).toBe(false)
      taken.add(prefix)
    }
  })
})

/** Made by `generateTablePrefix` of dexie-cloud-addon 4.4.14, one table after the other. */
const CLIENT_PREFIXES = {
  members: 'mmb',
  realms: 'rlm',
  items: 'itm',
  notes: 'nts',
  realmItems: 'Rlm',
  todoItems: 'tdi',
  todoLists: 'tdl',
  todoLinks: 'Tdl',
  a: 'a',
  aa: 'a2',
  ae: 'a21',
  ai: 'A21',
  ao: 'a22',
  x1: 'x',
  x1y2: 'xy',
  eau: 'e',
  Water: 'wtr',
  wow: 'w',
  wwwy: 'wy',
  users: 'usr',
  Users: 'Usr',
  uSeRs: 'uSr',
  usrs: 'USr',
  usersX: 'usR',
  u_s_r: 'UsR',
  üser: 'üsr',
  é: 'é',
  _private: '_pr',
  'my-table': 'myt',
  '1st': '1st',
  '1ts': '1ts',
  '1ss': '1ss',
  '9i': '9',
  files: 'fls',
  fls: 'Fls',
  fools: 'fLs',
  fuels: 'FLs',
  feels: 'flS',
  fails: 'FlS',
  failsafe: 'fLS',
  fulls: 'fll',
  fels: 'flt',
} as const

function timeBytes(time: number): number[] {
  return [40, 32, 24, 16, 8, 0].map((bits) => Math.floor(time / 2 ** bits) % 256)
}

function timeOf(id: string): number {
  return b64LexDecode(id.slice(3, 27))
    .slice(0, 6)
    .reduce((time, byte) => time * 256 + byte, 0)
}
