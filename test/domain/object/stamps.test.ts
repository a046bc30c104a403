import { describe, expect, test } from 'bun:test'
import {
  collide,
  formatStamps,
  newStamps,
  readStamps,
  type Rival,
  stampWrite,
} from '../../../src/domain/object/stamps'

/** A write whose client has seen everything up to revision 2. */
function rival(ts: number): Rival {
  return { ts, client: 0, isByCriteria: false, isSeen: ([, revision]) => revision <= 2 }
}

describe('stamps of an object', () => {
  test('a row that was written as a whole needs no text', () => {
    expect(formatStamps(newStamps([100, 1]), 100, 1)).toBeNull()
    expect(readStamps(null, 100, 1)).toEqual(newStamps([100, 1]))
  })

  test('come back from their text as they were', () => {
    const stamps = newStamps([100, 1])
    const free = { survivors: [], latest: 0 }
    stampWrite(stamps, ['a'], free, [200, 2])
    stampWrite(stamps, ['b', 'c', 'd'], free, [300, 3, 7])
    stampWrite(stamps, ['name.with.dots'], free, [300, 3, 7])
    stampWrite(stamps, ['__proto__'], free, [300, 3, 7])
    const text = formatStamps(stamps, 300, 3)
    expect(readStamps(text, 300, 3)).toEqual(stamps)
  })

  test('a write replaces the stamps below it', () => {
    const stamps = newStamps([100, 1])
    const free = { survivors: [], latest: 0 }
    stampWrite(stamps, ['a', 'b'], free, [200, 2])
    stampWrite(stamps, ['a'], collide(stamps, ['a'], rival(300)), [300, 3])
    expect(stamps.properties.get('a')).toEqual({ own: [300, 3], below: new Map() })
    expect(collide(stamps, ['a', 'b'], rival(250)).isLost).toBe(true)
  })
})
