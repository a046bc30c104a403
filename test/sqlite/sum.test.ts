import { expect, test } from 'bun:test'
import {
  isContentSound,
  isHeadSound,
  type SummedObject,
  sumOfObject,
  withHead,
} from '../../src/sqlite/sum'

const ROW: SummedObject = {
  seq: 7,
  key: 'itm1',
  realm: 3,
  owner: 'alice',
  revision: 12,
  entered: 9,
  updated: Date.UTC(2030, 0, 1),
  stamps: null,
  value: '{"id":"itm1"}',
}

test('the sum of an object is a safe whole number, with the realm as a part of both halves', () => {
  const sum = sumOfObject(ROW)
  expect(Number.isSafeInteger(sum)).toBe(true)
  expect(sum).toBeGreaterThan(0)
  expect(isHeadSound(ROW, sum)).toBe(true)
  expect(isContentSound(ROW.value, ROW.realm, sum)).toBe(true)
  expect(isContentSound(ROW.value, ROW.realm + 1, sum)).toBe(false)
  const moved = { ...ROW, key: 'itm2' }
  expect(withHead(moved, sum)).toBe(sumOfObject(moved))
})

test('a change of one column is found, of any type that damage may give it', () => {
  const sum = sumOfObject(ROW)
  const numbers = ['seq', 'realm', 'revision', 'entered', 'updated'] as const
  let missed = 0
  for (const name of numbers) {
    for (let bit = 0; bit < 48; bit += 1) {
      if (isHeadSound({ ...ROW, [name]: ROW[name] + 2 ** bit }, sum)) missed += 1
    }
    for (const other of [ROW[name] + 0.5, String(ROW[name]), null, Buffer.from('x')]) {
      expect(isHeadSound({ ...ROW, [name]: other }, sum)).toBe(false)
    }
  }
  for (const name of ['key', 'owner', 'stamps'] as const) {
    for (let n = 0; n < 100; n += 1) {
      if (isHeadSound({ ...ROW, [name]: `other ${n}` }, sum)) missed += 1
    }
    expect(isHeadSound({ ...ROW, [name]: Buffer.from('alice') as never }, sum)).toBe(false)
    expect(isHeadSound({ ...ROW, [name]: 7 as never }, sum)).toBe(false)
  }
  expect(missed).toBe(0)
  const swapped = { ...ROW, owner: null, stamps: 'alice' }
  expect(isHeadSound(swapped, sum)).toBe(false)
})
