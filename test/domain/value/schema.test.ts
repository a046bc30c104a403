import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  formatStores,
  parseStores,
  parseTable,
  requireTableName,
} from '../../../src/domain/value/schema'
import { refusal } from '../refusal'

describe('parseTable', () => {
  test('reads a generated key and plain indexes', () => {
    expect(parseTable('todoItems', '@id, title,todoListId')).toEqual({
      primaryKey: ['id'],
      compound: false,
      generated: true,
      indexes: [
        { name: 'title', paths: ['title'], multi: false, compound: false, unique: false },
        { name: 'todoListId', paths: ['todoListId'], multi: false, compound: false, unique: false },
      ],
      yProps: [],
    })
  })

  test('reads unique, multi, compound and nested indexes', () => {
    const { indexes } = parseTable('people', ' id , &email, *tags, &*codes, [a+b.c], address.city')
    expect(indexes).toEqual([
      { name: 'email', paths: ['email'], multi: false, compound: false, unique: true },
      { name: 'tags', paths: ['tags'], multi: true, compound: false, unique: false },
      { name: 'codes', paths: ['codes'], multi: true, compound: false, unique: true },
      { name: '[a+b.c]', paths: ['a', 'b.c'], multi: false, compound: true, unique: false },
      {
        name: 'address.city',
        paths: ['address.city'],
        multi: false,
        compound: false,
        unique: false,
      },
    ])
  })

  test.each([
    ['id', ['id'], false, false],
    ['&id', ['id'], false, false],
    ['@ id', ['id'], false, true],
    ['[realmId+name]', ['realmId', 'name'], true, false],
    ['[a]', ['a'], true, false],
    ['meta.key', ['meta.key'], false, false],
    ['größe', ['größe'], false, false],
  ])('reads the primary key of %p', (text, primaryKey, compound, generated) => {
    expect(parseTable('t', text)).toMatchObject({ primaryKey, compound, generated, indexes: [] })
  })

  test('keeps Yjs properties apart from indexes', () => {
    const schema = parseTable('notes', '@id, title, body: Y.Doc, draft:Y')
    expect(schema.indexes.map(({ name }) => name)).toEqual(['title'])
    expect(schema.yProps).toEqual(['body', 'draft'])
  })

  test('names what begins with $ as the clients do and finds it where they store it', () => {
    const schema = parseTable('t', '$id, $ts, [a.$b+c$d]')
    expect(schema.primaryKey).toEqual(['$$id'])
    expect(schema.indexes).toMatchObject([
      { name: '$ts', paths: ['$$ts'] },
      { name: '[a.$b+c$d]', paths: ['a.$$b', 'c$d'] },
    ])
  })

  test.each([
    ['++id, name', 1, 1, 'write "@id" instead'],
    ['@++id', 1, 2, 'write "@id" instead'],
    ['id, ++n', 1, 5, 'write "@id" instead'],
    ['id++', 1, 3, 'write "@id" instead'],
    ['', 1, 1, 'such as "id", or "@id" for generated keys'],
    ['  , name', 1, 3, 'such as "id", or "@id" for generated keys'],
    ['@', 1, 1, 'such as "@id"'],
    ['@, name', 1, 1, 'such as "@id"'],
    ['@[a+b]', 1, 2, 'a single property, write "@id"'],
    ['*id', 1, 1, 'write "id" without "*"'],
    ['id: Y.Doc', 1, 1, 'cannot be a Yjs document'],
    ['id,\n title,\n  @other', 3, 3, '"@" cannot stand here'],
    ['id, title,', 1, 11, 'remove the comma'],
    ['id, , title', 1, 5, 'remove the comma'],
    ['id, a, b, *a', 1, 11, '"a" is declared twice'],
    ['id, [a+b], [a+b]', 1, 12, '"[a+b]" is declared twice'],
    ['id, [a,b]', 1, 7, 'a compound is written "[a+b]"'],
    ['id, [a+b', 1, 9, 'a compound is written "[a+b]"'],
    ['id, [a+b] c', 1, 10, 'a comma belongs behind "]"'],
    ['id, [a+]', 1, 8, 'a property name is missing'],
    ['id, []', 1, 6, 'a property name is missing'],
    ['id, [a+b c]', 1, 9, '" " cannot stand here'],
    ['id, *[a+b]', 1, 5, 'write "[a+b]"'],
    ['id, first name', 1, 10, '" " cannot stand here'],
    ['id; name', 1, 4, '" " cannot stand here'],
    ['id, a..b', 1, 6, '"." cannot stand here'],
    ['id, .a', 1, 5, '"." cannot stand here'],
    ['id, a.', 1, 6, '"." cannot stand here'],
    ['id, a]', 1, 6, '"]" cannot stand here'],
    ['id, a&', 1, 6, '"&" cannot stand here'],
    ['id, \ud800', 1, 5, String.raw`"\ud800" cannot stand here`],
    ['id, body: Text', 1, 9, '"content: Y.Doc"'],
    ['id, *body: Y.Doc', 1, 10, '"content: Y.Doc"'],
  ])('refuses %p at line %d, column %d', (text, line, column, hint) => {
    const error = refusal(() => parseTable('items', text))
    expect(error.code).toBe('INVALID_SCHEMA')
    expect(error.message).toStartWith(`Table "items", line ${line}, column ${column}: `)
    expect(error.message).toContain(hint)
  })
})

describe('formatStores', () => {
  test('writes the canonical text', () => {
    const text = ' @ id,&*tags ,  [a+b.$c],  *&codes, body:Y,$ts'
    expect(formatStores(parseTable('t', text))).toBe(
      '@id, &*tags, [a+b.$c], &*codes, $ts, body: Y.Doc',
    )
  })

  test('writes what parses back to the same', () => {
    fc.assert(
      fc.property(storesText(), (text) => {
        const schema = parseTable('t', text)
        const canonical = formatStores(schema)
        expect(parseTable('t', canonical)).toEqual(schema)
        expect(formatStores(parseTable('t', canonical))).toBe(canonical)
      }),
      { numRuns: 300 },
    )
  })
})

describe('parseStores', () => {
  test('reads tables in the order they are declared, null hiding one', () => {
    const schemas = parseStores(JSON.parse('{"b":"@id","a":null,"__proto__":"key"}'))
    expect([...schemas]).toMatchObject([
      ['b', { primaryKey: ['id'], generated: true }],
      ['a', null],
      ['__proto__', { primaryKey: ['key'] }],
    ])
  })

  test.each([[null], [[]], ['@id'], [1], [undefined]])('refuses %p', (tables) => {
    expect(refusal(() => parseStores(tables)).message).toContain('object of table names')
  })

  test.each([[1], [{}], [['@id']], [true]])('refuses %p as a stores text', (text) => {
    const error = refusal(() => parseStores({ items: text }))
    expect(error.code).toBe('INVALID_SCHEMA')
    expect(error.message).toBe('Table "items": write a stores text such as "@id, title", or null')
  })
})

/** Short addresses use these names for something else; tables may have them. */
const RESERVED =
  'users token sync changes blob import export clients whitelist oauth my all public'.split(' ')

describe('requireTableName', () => {
  test('accepts names that are addresses and text', () => {
    for (const name of [
      'items',
      'My-Table 2',
      'é'.repeat(64),
      'user',
      'Users',
      '__proto__',
      'a$',
      ...RESERVED,
    ]) {
      expect(() => requireTableName(name)).not.toThrow()
    }
  })

  test.each([
    ['', 'needs a name'],
    ['.', 'needs a name'],
    ['..', 'needs a name'],
    ['a\u0000', 'control characters'],
    ['a\u0085', 'control characters'],
    ['\udc00', 'well-formed'],
    ['é'.repeat(65), 'at most 128 bytes'],
    ['$jobs', 'reserved'],
  ])('refuses %p', (name, reason) => {
    const error = refusal(() => parseStores({ [name]: '@id' }))
    expect(error.code).toBe('INVALID_SCHEMA')
    expect(error.message).toContain(reason)
    expect(error.message.length).toBeLessThan(300)
  })
})

function storesText(): fc.Arbitrary<string> {
  const name = fc.stringMatching(/^[$_a-zé]{1,3}(\.[$a-z]{1,2}){0,2}$/)
  const compound = fc.array(name, { minLength: 1, maxLength: 3 }).map((n) => `[${n.join('+')}]`)
  const flagged = fc.tuple(fc.constantFrom('', '&', '*', '&*', '*&'), name).map((x) => x.join(''))
  const yProp = name.map((n) => `${n} :Y.Doc`)
  const key = fc.oneof(
    name,
    compound,
    name.map((n) => `@${n}`),
  )
  const index = fc.oneof(flagged, compound, yProp)
  const indexes = fc.uniqueArray(index, { selector: (text) => text.replaceAll(/[&*]| :.*/g, '') })
  const space = fc.constantFrom('', ' ', '\n  ')
  return fc
    .tuple(key, indexes, space, space)
    .map(([key, indexes, before, after]) => [key, ...indexes].join(`${before},${after}`))
}
