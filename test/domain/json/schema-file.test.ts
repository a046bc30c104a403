import { expect, test } from 'bun:test'
import { parseSchemaFile, parseSchemaIn } from '../../../src/domain/json/schema-file'
import { refusal } from '../refusal'

test('reads the schema of an import file and nothing else of it', () => {
  const file = { sealed: true, schema: { items: '@id, title', old: null }, data: { rlm1: {} } }
  const schemas = parseSchemaFile(`\ufeff${JSON.stringify(file)}`)
  expect([...schemas.keys()]).toEqual(['items', 'old'])
  expect(schemas.get('items')).toMatchObject({ primaryKey: ['id'], generated: true })
})

test('reads a bare object of stores texts, even when a table is called schema', () => {
  expect([...parseSchemaFile('{"schema":"@id","notes":"id"}').keys()]).toEqual(['schema', 'notes'])
})

test('reports line and column of a fault in a stores text', () => {
  const file = String.raw`{
  "sealed": true,
  "schema": {
    "items": "@id, title",
    "notes": "id,\ttitle,\u0020++count"
  }
}`
  expect(told(file)).toBe(
    'INVALID_SCHEMA: Table "notes", line 5, column 32: counted keys (++) of two clients collide, write "@id" instead',
  )
})

test('tells the place of a name that no table may have', () => {
  expect(told('{\n  "items": "@id",\n  "$jobs": "@id"\n}')).toBe(
    'INVALID_SCHEMA: Table "$jobs", line 3, column 3: names that begin with "$" are reserved for clients; choose another',
  )
  expect(told('{"items": {"id": "@"}}')).toBe(
    'INVALID_SCHEMA: Table "items", line 1, column 2: write a stores text such as "@id, title", or null',
  )
})

test('reads and points at the last of duplicate keys', () => {
  expect(parseSchemaFile('{"items":"++bad","items":"@id"}').get('items')?.generated).toBe(true)
  expect(told('{"items":"@id",\n"items":"id,"}')).toContain('line 2, column 13')
})

test('tells line and column where the file stops being JSON', () => {
  expect(told('{\n  "items": "@id"\n  "notes": "@id"\n}')).toBe(
    'INVALID_REQUEST: The schema file is not valid JSON: a comma or "}" is expected at line 3, column 3',
  )
})

test('tells the place in the file when the schema is a part of it', () => {
  const tables = { items: '@id, ++n' }
  const line = JSON.stringify({ type: 'schema', tables })
  const parse = () => parseSchemaIn(line, ['tables'], tables, { line: 7, column: 3 })
  expect(parse).toThrow('Table "items", line 7, column 44:')
})

test.each(['null', '[]', '"@id"', '7'])('refuses %s', (file) => {
  expect(told(file)).toBe(
    'INVALID_SCHEMA: A schema must be an object of table names and stores texts',
  )
})

function told(file: string): string {
  const { code, message } = refusal(() => parseSchemaFile(file))
  return `${code}: ${message}`
}
