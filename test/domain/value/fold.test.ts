import { describe, expect, test } from 'bun:test'
import { foldText } from '../../../src/domain/value/fold'
import { textsOf } from '../../../src/domain/store/users'

describe('a folded text', () => {
  test.each([
    ['Alice@Example.COM', 'alice@example.com'],
    ['Åsa Öberg', 'asa oberg'],
    ['A\u030asa', 'asa'],
    ['Jørgen Æbelø', 'jorgen aebelo'],
    ['Straße', 'strasse'],
    ['STRASSE', 'strasse'],
    ['Łukasz', 'lukasz'],
    ['Đorđe', 'dorde'],
    ['İstanbul', 'istanbul'],
    ['ısı', 'isi'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['οδός', 'οδοσ'],
    ['ﬁne', 'fine'],
    ['Ａｌｉｃｅ', 'alice'],
    ['が', 'が'],
    ['か\u3099', 'が'],
    ['한글', '한글'],
    ['नमस्ते', 'नमस्ते'],
    ['a\u0000b\nc', 'a b c'],
    ['\ud800x', '\ufffdx'],
    ['', ''],
  ])('%p becomes %p', (text, folded) => {
    expect(foldText(text)).toBe(folded)
    expect(foldText(folded)).toBe(folded)
  })
})

describe('the texts of a user', () => {
  test('are the id, the e-mail and the name, each once', () => {
    const data = { email: 'Bob@Example.com', displayName: 'Bób' }
    expect(textsOf({ id: 'u1', data })).toEqual({
      email: 'bob@example.com',
      name: 'bob',
      search: 'u1\nbob@example.com\nbob',
    })
    expect(textsOf({ id: 'bob@example.com', data })).toEqual({
      email: null,
      name: 'bob',
      search: 'bob@example.com\nbob',
    })
  })

  test('are those that are texts', () => {
    expect(textsOf({ id: 'u1', data: null })).toEqual({
      email: null,
      name: null,
      search: 'u1',
    })
    expect(textsOf({ id: 'u1', data: { email: 1, displayName: null } })).toEqual({
      email: null,
      name: null,
      search: 'u1',
    })
  })

  test('have an end, for any name', () => {
    const { search } = textsOf({ id: 'u1', data: { displayName: 'ﷺ'.repeat(100_000) } })
    expect(search.length).toBeLessThan(1_100)
    expect(textsOf({ id: 'u1', data: { email: `a@${'b'.repeat(1_000)}` } }).email).toBeNull()
  })
})
