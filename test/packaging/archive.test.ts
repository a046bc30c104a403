import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { tarball } from '../../src/packaging/archive'
import { temporaryFolder } from '../setup'

const TIME = Date.UTC(2030, 0, 31) / 1000
const bytes = (text: string) => new TextEncoder().encode(text)

test('tar unpacks an archive with its contents, modes and times', async () => {
  using folder = temporaryFolder()
  const long = bytes('x'.repeat(1_025))
  const archive = tarball(
    [
      { path: 'one/program', content: long, isExecutable: true },
      { path: 'one/text', content: bytes('hello\n') },
      { path: 'one/empty', content: new Uint8Array() },
    ],
    TIME,
  )
  await Bun.write(join(folder.path, 'a.tar.gz'), archive)
  const run = (...args: string[]) =>
    Bun.spawnSync(['tar', ...args], { cwd: folder.path, env: { ...process.env, TZ: 'UTC' } })
  const listed = run('--list', '--verbose', '--full-time', '--file', 'a.tar.gz').stdout.toString()
  expect(listed.replaceAll(/ +/g, ' ').trim().split('\n')).toEqual([
    '-rwxr-xr-x root/root 1025 2030-01-31 00:00:00 one/program',
    '-rw-r--r-- root/root 6 2030-01-31 00:00:00 one/text',
    '-rw-r--r-- root/root 0 2030-01-31 00:00:00 one/empty',
  ])
  expect(run('--extract', '--file', 'a.tar.gz').exitCode).toBe(0)
  expect(await Bun.file(join(folder.path, 'one', 'program')).bytes()).toEqual(long)
  expect(await Bun.file(join(folder.path, 'one', 'text')).text()).toBe('hello\n')
})

test('the same files give the same bytes', () => {
  const files = [{ path: 'text', content: bytes('hello\n') }]
  expect(tarball(files, TIME)).toEqual(tarball(files, TIME))
})

test('a path that the format has no place for is refused', () => {
  const path = 'x'.repeat(101)
  expect(() => tarball([{ path, content: bytes('') }], TIME)).toThrow('too long for an archive')
})
