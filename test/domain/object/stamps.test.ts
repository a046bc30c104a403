import { describe, expect, test } from 'bun:test'
import {
  collide,
  formatStamps,
  newStamps,
  readStamps,
  stampWrite,
} from '../../../src/domain/object/stamps'

describe('stamps of an object', () => {
  test('a row that was written as a whole needs no text', () => {
    expect(formatStamps(newStamps([100, 1]), 100, 1)).toBeNull()
    expect(readStamps(null, 100, 1)).toEqual(newStamps([100, 1]))
  })

  test('come back from their text as they were', () => {
    const stamps = newStamps([100, 1])
    const free = { survivors: [], latest: 0 }
    stampWrite(stamps, ['a'], free, 200, 2)
    stampWrite(stamps, ['b', 'c', 'd'], free, 300, 3)
    stampWrite(stamps, ['name.with.dots'], free, 300, 3)
    stampWrite(stamps, ['__proto__'], free, 300, 3)
    const text = formatStamps(stamps, 300, 3)
    expect(readStamps(text, 300, 3)).toEqual(stamps)
  })

  test('a write replaces the stamps below it', () => {
    const stamps = newStamps([100, 1])
    const free = { survivors: [], latest: 0 }
    stampWrite(stamps, ['a', 'b'], free, 200, 2)
    stampWrite(
      stamps,
      ['a'],
      collide(stamps, ['a'], 300, (revision) => revision <= 2),
      300,
      3,
    )
    expect(stamps.properties.get('a')).toEqual({ own: [300, 3], below: new Map() })
    expect(collide(stamps, ['a', 'b'], 250, (revision) => revision <= 2).isLost).toBe(true)
  })
})
