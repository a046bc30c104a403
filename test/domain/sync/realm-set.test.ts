import { expect, test } from 'bun:test'
import { realmSetHash } from '../../../src/domain/sync/realm-set'

// The vectors were made by the published add-on (protocol.md §5.2).
test('hashes realms as clients do (conformance 108)', () => {
  const own = ['rlm-public', 'foo@demo.local']
  expect(realmSetHash(['rlm-public'], [])).toBe('sg27byWFLg+G3UZX+t2nAA6YHjs=')
  expect(realmSetHash(own, [])).toBe('B2YSUeaIJa57otsVYmObTxq5lWA=')
  expect(realmSetHash(own, ['rlmInv'])).toBe('1oRnFtFRHwAlSei3AN8EuVc3cN4=')
  expect(realmSetHash(own, [])).toBe('B2YSUeaIJa57otsVYmObTxq5lWA=')
  expect(realmSetHash([...own, 'rlmInv'], [])).toBe('VZD9PgFWjyDNQJS+wrtMI+95PE8=')
})

test('the order of the realms makes no difference', () => {
  expect(realmSetHash(['b', 'a'], ['d', 'c'])).toBe(realmSetHash(['a', 'b'], ['c', 'd']))
  expect(realmSetHash(['a'], ['b'])).not.toBe(realmSetHash(['b'], ['a']))
})
