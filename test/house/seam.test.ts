import { expect, test } from 'bun:test'
import { countMethods, seamIn } from './seam'

test('counts the methods that an engine implements, once each', () => {
  const seam = seamIn([
    `export interface ThingReader {
      find(id: string): string
      find(id: string, other: string): string
      readonly size: number
    }
    export interface ThingWriter extends ThingReader {
      find(id: string): string
      put(id: string): void
    }`,
    'export interface Meanings { of(): string }\nexport interface Step { <T>(work: () => T): T }',
  ])
  expect(Object.fromEntries(seam)).toEqual({
    ThingReader: ['find'],
    ThingWriter: ['put'],
    Step: ['()'],
  })
  expect(countMethods(seam)).toBe(3)
})
