import { expect, test } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  nameHolder,
  readHolder,
  removeHolder,
  thisProcess,
  writeHolder,
} from '../../src/host/holder'
import { temporaryFolder } from '../setup'

test('the file of a holder is readable by other processes of the same user only', () => {
  using folder = temporaryFolder()
  const holder = { ...thisProcess(), address: 'http://127.0.0.1:1', token: 'secret' }
  writeHolder(folder.path, holder)
  expect(readHolder(folder.path)).toEqual(holder)
  expect(statSync(join(folder.path, 'holder.json')).mode & 0o777).toBe(0o600)
  writeHolder(folder.path, thisProcess())
  expect(readHolder(folder.path)).toEqual({ ...holder, address: null, token: null })
  removeHolder(folder.path)
  removeHolder(folder.path)
  expect(readHolder(folder.path)).toBeUndefined()
})

test.each(['', '{', '[]', 'null', '{"pid":"1"}'])('finds no holder in %p', (content) => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'holder.json'), content)
  expect(readHolder(folder.path)).toBeUndefined()
})

test('names the machine only when it is another one', () => {
  const holder = { pid: 4711, host: hostname(), address: null, token: null }
  expect(nameHolder(holder)).toBe('process 4711')
  expect(nameHolder({ ...holder, host: 'elsewhere' })).toBe('process 4711 on elsewhere')
  expect(nameHolder(undefined)).toBe('another process')
})
