import { expect, test } from 'bun:test'
import { createFragments, type Fragment } from '../../src/sync/fragments'

/** Keeps fragments of 900 characters up to 10,000, and tells which are made. */
function setup() {
  const fragments = createFragments(10_000)
  const made: string[] = []
  const find = (name: string) =>
    fragments.find(name, () => {
      made.push(name)
      return fragmentOf(name)
    })
  return { fragments, made, find }
}

function fragmentOf(name: string): Fragment {
  return { parts: [{ table: name, isRemoval: false, text: 'x'.repeat(900) }], isPartial: false }
}

test('a fragment is made once for all that ask, also where there is none', () => {
  const { find, made } = setup()
  expect([find('a'), find('a')]).toEqual([fragmentOf('a'), fragmentOf('a')])
  expect(made).toEqual(['a'])
  const fragments = createFragments(10_000)
  let asked = 0
  const none = () => void (asked += 1)
  expect([fragments.find('b', none), fragments.find('b', none)]).toEqual([undefined, undefined])
  expect(asked).toBe(1)
})

test('a fragment that nobody has asked for between two calls is forgotten', () => {
  const { find, fragments, made } = setup()
  find('asked')
  find('left')
  fragments.age()
  find('asked')
  fragments.age()
  find('asked')
  find('left')
  expect(made).toEqual(['asked', 'left', 'left'])
})

test('the newest ones are kept up to the limit, in two halves', () => {
  const { find, made } = setup()
  const names = Array.from({ length: 11 }, (_, at) => String(at))
  for (const name of names) find(name)
  made.length = 0
  for (const name of ['10', '9', '5']) find(name)
  expect(made).toEqual([])
  find('4')
  expect(made).toEqual(['4'])
})

test('all are forgotten at once', () => {
  const { find, fragments, made } = setup()
  find('a')
  fragments.clear()
  find('a')
  expect(made).toEqual(['a', 'a'])
})
