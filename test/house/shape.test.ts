import { expect, test } from 'bun:test'
import { measureShape } from './shape'
import type { Source } from './sources'

const source = (path: string, lines: number, ...imports: readonly string[]): Source => ({
  path,
  lines,
  // A question mark stands behind an import of types.
  imports: imports.map((each) => ({ path: each.replace('?', ''), isType: each.endsWith('?') })),
})

test('finds cycles, with imports of types and without', () => {
  const shape = measureShape([
    source('a', 1, 'b'),
    source('b', 1, 'c', 'd'),
    source('c', 1, 'a?'),
    source('d', 1, 'e'),
    source('e', 1, 'd', 'a?'),
  ])
  expect(shape.cycles).toEqual([['d', 'e']])
  expect(shape.cyclesWithTypes).toEqual([['a', 'b', 'c', 'd', 'e']])
})

test('counts lines, importers and imports between folders of the domain', () => {
  const shape = measureShape([
    source('src/domain/a/x.ts', 10, 'src/domain/b/y.ts', 'src/domain/a/z.ts'),
    source('src/domain/a/z.ts', 30, 'src/domain/b/y.ts?'),
    source('src/domain/b/y.ts', 20),
  ])
  expect(shape).toMatchObject({ files: 3, median: 20, max: 30, largest: 'src/domain/a/z.ts' })
  expect(shape.oneImporter).toEqual(['src/domain/a/z.ts'])
  expect([...shape.betweenFolders]).toEqual([['a → b', 2]])
})
