import { expect, test } from 'bun:test'
import { createOnce } from '../../src/auth/once'
import { createTestClock, MINUTE } from './setup'

const setup = () => createOnce<string>(createTestClock(), MINUTE, 6, (value) => value.slice(0, 1))

test('beyond the most, the oldest one ends of the owner with the most', () => {
  const once = setup()
  const code = (value: string) => once.issue(value).code
  const [b1, a1, a2, a3, a4, c1] = ['b1', 'a1', 'a2', 'a3', 'a4', 'c1'].map(code)
  const [a5, c2] = ['a5', 'c2'].map(code)
  const left = [b1, a1, a2, a3, a4, c1, a5, c2].map((each) => once.take(each ?? ''))
  expect(left).toEqual(['b1', undefined, undefined, 'a3', 'a4', 'c1', 'a5', 'c2'])
})

test('among as many owners the oldest of all ends', () => {
  const once = setup()
  const codes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((value) => once.issue(value).code)
  expect(codes.map((code) => once.take(code))).toEqual([undefined, 'b', 'c', 'd', 'e', 'f', 'g'])
})
