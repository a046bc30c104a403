import { describe, expect, test } from 'bun:test'
import type { Scratch, ScratchWriter } from '../../src/domain/store/scratch'
import { codeOf, type TestClock } from '../auth/setup'

export interface ScratchFixture extends Disposable {
  readonly scratch: Scratch
  /** The time at which files are created. */
  readonly clock: TestClock
  /** A second handle on the same place, as a later process or a neighbour has it. */
  another(): Scratch
  /** The names of all files. */
  names(): string[]
}

/** The contract of a place for temporary files (src/domain/store/scratch.ts). */
export function describeScratch(name: string, openScratch: () => ScratchFixture): void {
  async function write(scratch: Scratch, ...pieces: (string | Uint8Array)[]): Promise<string> {
    await using file = await scratch.create('ndjson')
    for (const piece of pieces) await file.write(piece)
    await file.finish()
    file.keep()
    return file.name
  }

  async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
    return Buffer.concat(await Array.fromAsync(bytes)).toString()
  }

  describe(`${name} scratch`, () => {
    test('gives back texts and bytes in their order, to another process too', async () => {
      using fixture = openScratch()
      const name = await write(fixture.scratch, 'ä1\n', Buffer.from('2\n'), '3\n')
      using file = await fixture.another().open(name)
      expect(file.size).toBe(8)
      expect(await textOf(file.stream())).toBe('ä1\n2\n3\n')
      expect(await textOf(file.stream(4, 6))).toBe('2\n')
      expect(Buffer.from(file.read(4, 2)).toString()).toBe('2\n')
      expect(Buffer.from(file.read(6, 100)).toString()).toBe('3\n')
      expect(file.read(8, 10)).toHaveLength(0)
    })

    test('streams large files in many parts', async () => {
      using fixture = openScratch()
      const bytes = Buffer.alloc(1_000_000, 'abcdefg')
      using file = await fixture.scratch.open(await write(fixture.scratch, bytes))
      const parts = await Array.fromAsync(file.stream())
      expect(parts.length).toBeGreaterThan(2)
      expect(Buffer.concat(parts).equals(bytes)).toBe(true)
    })

    test('gives back a file that need not survive a crash', async () => {
      using fixture = openScratch()
      await using file = await fixture.scratch.create('json')
      await file.write('[1')
      await file.write(Buffer.from(',2]'))
      await file.close()
      using written = await fixture.scratch.open(file.name)
      expect(await textOf(written.stream())).toBe('[1,2]')
    })

    test('counts the bytes of a file that is complete', async () => {
      using fixture = openScratch()
      await using file = await fixture.scratch.create('zip')
      await file.write('ä')
      await file.finish()
      expect(file.size).toBe(2)
      expect(file.name).toEndWith('.zip')
    })

    test('removes a file that was not kept, complete or not', async () => {
      using fixture = openScratch()
      for (const isComplete of [true, false]) {
        await using file: ScratchWriter = await fixture.scratch.create('ndjson')
        await file.write('x')
        if (isComplete) await file.finish()
        expect(fixture.names()).toEqual([file.name])
      }
      expect(fixture.names()).toEqual([])
    })

    test('removes by name, twice if asked, and says that a file is missing', async () => {
      using fixture = openScratch()
      const { scratch } = fixture
      const name = await write(scratch, 'x')
      await scratch.remove(name)
      await scratch.remove(name)
      expect(fixture.names()).toEqual([])
      expect(await codeOf(() => scratch.open(name))).toBe('STORAGE_FAILED')
    })

    test('lets a reader finish a file that is removed', async () => {
      using fixture = openScratch()
      const { scratch } = fixture
      const name = await write(scratch, 'abc')
      using file = await scratch.open(name)
      await scratch.remove(name)
      expect(await textOf(file.stream())).toBe('abc')
    })

    test('sweeps what is unused and old enough, and no file that a neighbour has just begun', async () => {
      using fixture = openScratch()
      const { scratch, clock } = fixture
      const [used, stray] = [await write(scratch, 'used'), await write(scratch, 'stray')]
      clock.advance(1_000)
      await using young = await fixture.another().create('ndjson')
      await scratch.sweep(clock.now(), (name) => name === used)
      expect(fixture.names()).toEqual([used, young.name].toSorted())
      expect(await codeOf(() => scratch.open(stray))).toBe('STORAGE_FAILED')
      await scratch.sweep(clock.now() + 1, () => false)
      expect(fixture.names()).toEqual([])
    })

    test('sweeps where nothing was ever written', async () => {
      using fixture = openScratch()
      await fixture.scratch.sweep(fixture.clock.now(), () => false)
      expect(fixture.names()).toEqual([])
    })
  })
}
