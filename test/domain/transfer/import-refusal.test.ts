import { describe, expect, test } from 'bun:test'
import type { Scratch } from '../../../src/domain/store/scratch'
import { SatchelError } from '../../../src/domain/value/error'
import { importFile } from '../../../src/domain/transfer/import'
import { codeOf, refusalOf } from '../../auth/setup'
import { contextOf, dataOf, expectNothingLeft, IMPORT_OPTIONS, lines, setupDatabase } from './setup'
import { share } from '../../setup'

describe('a file that is not good in every part is refused whole', () => {
  const realm = { realm: 'rlm-a', table: 'realms', id: 'rlm-a', data: {} }
  const at = (part: object) => ({ realm: 'rlm-public', table: 'todo', id: 'x', data: {}, ...part })
  const file = (part: object) =>
    JSON.stringify({ schema: { todo: '@id', pairs: '[a+b]' }, ...part })
  const data = (value: unknown) => file({ data: { 'rlm-public': value } })
  const deep = `${'['.repeat(64)}${']'.repeat(64)}`

  const shared = share(async () => {
    const base = await setupDatabase()
    await base.import(JSON.stringify({ schema: { kept: 'id', hidden: 'id', todo: '@id' } }))
    await base.import(lines(realm, at({ table: 'kept', id: 'k' })))
    await base.import('{"schema":{"hidden":null}}')
    return base
  })

  test.each<[name: string, text: string, message: string, code?: string]>([
    ['nothing', '', 'The file is empty', 'INVALID_REQUEST'],
    ['only space', ' \n\n', 'The file is empty', 'INVALID_REQUEST'],
    ['a picture', '\u0089PNG', 'neither JSON, NDJSON nor a zip', 'INVALID_REQUEST'],
    ['half an archive', 'PK\u0003\u0004…', 'its end is missing', 'INVALID_REQUEST'],
    ['another archive', '\u001f\u008b…', 'unpack it', 'INVALID_REQUEST'],
    ['a list without a target', '[{}]', '--table and --realm', 'INVALID_REQUEST'],
    [
      'broken JSON',
      '{"schema":{},\n"data":{"rlm-public":{"todo":{"x":{"a":}}}}}',
      'line 2, column 40',
      'INVALID_REQUEST',
    ],
    [
      'a broken line',
      `${lines(at({}))}{"realm":"rlm-public",`,
      'line 2, column 23',
      'INVALID_REQUEST',
    ],
    ['an unknown section', file({ date: {} }), '"date": this is not a section'],
    ['data that is no object', file({ data: [] }), '"data": an object'],
    ['a realm that is no object', file({ data: { r: 1 } }), '"data.r": an object'],
    ['a table that is no object', data({ todo: [] }), '"data.rlm-public.todo": an object'],
    ['an object that is none', data({ todo: { x: 7 } }), '"data.rlm-public.todo.x": an object'],
    [
      'a number that would not survive',
      data({ todo: { x: { a: { b: [2 ** 60] } } } }),
      '"data.rlm-public.todo.x": "a.b.0" is a number',
    ],
    [
      'a value that clients cannot read',
      lines(at({ data: { a: [{ $t: 'Uint16Array', v: '0G--' }] } })),
      'line 1: "a.0" of type "Uint16Array" needs',
    ],
    ['a single $', data({ todo: { x: { $a: 1 } } }), '"data.rlm-public.todo.x": The property "$a"'],
    [
      'too deep',
      `{"data":{"rlm-public":{"todo":{"x":{"a":${deep}}}}}}`,
      '"data.rlm-public.todo.x": JSON may not nest',
    ],
    [
      'too deep in a line',
      lines(at({ data: '@' })).replace('"@"', `{"a":${deep}}`),
      'line 1: JSON may not nest',
    ],
    [
      'an unknown table with a compound key',
      data({ todos: { '["x",1]': {} } }),
      'there is no table "todos"',
      'UNKNOWN_TABLE',
    ],
    [
      'a hidden table',
      data({ hidden: { x: {} } }),
      '"data.rlm-public.hidden.x": there is no table',
      'UNKNOWN_TABLE',
    ],
    [
      'another key inside',
      data({ todo: { x: { id: 'y' } } }),
      '"data.rlm-public.todo.x": "id" is not the key',
    ],
    [
      'another realm inside',
      data({ todo: { x: { realmId: 'eve' } } }),
      '"data.rlm-public.todo.x": "realmId" is not the realm',
    ],
    [
      'a key of the wrong type',
      data({ todo: { x: { id: 5 } } }),
      '"data.rlm-public.todo.x": "id" must be a string',
    ],
    [
      'a compound key that is none',
      data({ pairs: { x: {} } }),
      '"data.rlm-public.pairs.x": The key must be the JSON array of "a" and "b"',
    ],
    [
      'a compound key to delete that is none',
      data({ pairs: { '["x"]': null } }),
      'The key must be the JSON array',
    ],
    [
      'a key that looks like an array',
      data({ todo: { '["x"]': {} } }),
      'must not look like a JSON array',
    ],
    [
      'a control character in a key',
      data({ todo: { '\u0007': {} } }),
      '"data.rlm-public.todo.\\u0007": "id" must not contain control',
    ],
    [
      'an owner of the wrong type',
      data({ todo: { x: { owner: 5 } } }),
      '"data.rlm-public.todo.x": "owner" must be',
    ],
    [
      'an unknown realm',
      file({ data: { 'rlm-x': { todo: { x: {} } } } }),
      '"data.rlm-x.todo.x": there is no realm "rlm-x"',
      'UNKNOWN_REALM',
    ],
    [
      'a realm that the file deletes',
      lines({ ...realm, data: null }, at({ realm: 'rlm-a' })),
      'line 2: there is no realm',
      'UNKNOWN_REALM',
    ],
    [
      'no user id as realm',
      file({ data: { '#x': { todo: { x: {} } } } }),
      '"data.#x.todo.x": A user id must not',
    ],
    [
      'a realm of a deletion that is no user id',
      file({ data: { '#x': { kept: { k: null } } } }),
      '"data.#x.kept.k": A user id must not',
    ],
    [
      'the public realm as a row',
      file({ data: { 'rlm-public': { realms: { 'rlm-public': {} } } } }),
      '"realmId" of a realm begins with "rlm"',
    ],
    [
      'a realm in another realm',
      file({ data: { 'rlm-public': { realms: { 'rlm-x': {} } } } }),
      '"realmId" is not the',
    ],
    [
      'a member of a private realm',
      file({ data: { eve: { members: { m: {} } } } }),
      '"data.eve.members.m": "realmId" of a row of "members"',
    ],
    [
      'a private key of another user',
      file({ data: { eve: { todo: { '#x:ann': {} } } } }),
      '"data.eve.todo.#x:ann": "#x:ann" is a private key',
    ],
    [
      'a private key outside of a private realm',
      data({ todo: { '#x': {} } }),
      '"data.rlm-public.todo.#x": "#x" is a private key',
    ],
    [
      'more index entries than an object may have',
      lines(
        { type: 'schema', tables: { todo: '@id, *tags' } },
        at({ id: 'y' }),
        at({ data: { tags: Array.from({ length: 10_001 }, String) } }),
      ),
      'line 3: An object may have 10000 index entries, and this one has 10001, most of them for "tags"',
    ],
    [
      'permissions that are none',
      file({ roles: { boss: { permissions: { add: 7 } } } }),
      '"roles.boss": "permissions.add"',
    ],
    ['roles that are no object', file({ roles: [] }), '"roles": an object'],
    ['a role that is no object', file({ roles: { boss: 1 } }), '"roles.boss": an object'],
    [
      'a demo user elsewhere',
      file({ demoUsers: { 'eve@example.com': {} } }),
      '"demoUsers.eve@example.com": the id of a demo user',
    ],
    [
      'a demo user that is none',
      file({ demoUsers: { 'eve@demo.local': true } }),
      '"demoUsers.eve@demo.local": an object',
    ],
    ['sealed that is neither', file({ sealed: 'yes' }), '"sealed": "sealed" must be true or false'],
    [
      'a broken schema',
      '{\n"data":{},\n "schema":{\n"todo":"@id, ++n"}}',
      'Table "todo", line 4, column 14',
      'INVALID_SCHEMA',
    ],
    [
      'a broken schema line',
      `\n${lines({ type: 'schema', tables: { todo: '@id,,n' } })}`,
      'Table "todo", line 2, column 40',
      'INVALID_SCHEMA',
    ],
    [
      'a prefix that is none',
      lines({ type: 'schema', tables: {}, idPrefixes: { todo: '#to' } }),
      'line 1, "idPrefixes.todo": an id prefix',
    ],
    [
      'a key path that cannot change',
      file({ schema: { kept: 'code' } }),
      'The primary key of "kept" is id',
      'CONFLICT',
    ],
    ['a built-in table hidden', file({ schema: { roles: null } }), 'The table "roles" is built in'],
    [
      'too many tables',
      file({ schema: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`t${n}`, 'id'])) }),
      'at most 500 tables',
    ],
    ['an unknown kind of line', lines({ type: 'yjs' }), 'line 1: this "type" of line is unknown'],
    ['an unknown older kind of line', lines(at({ $type: 'realm' })), 'line 1: "$type" must be'],
    [
      'an export that failed',
      lines(at({}), { type: 'error', message: 'boom' }),
      'line 2: the export that wrote this file failed here: "boom"',
    ],
    [
      'a line without a table',
      lines({ type: 'schema' }, { realm: 'rlm-public', id: 'x', data: {} }),
      'line 2: an object needs "realm", "table" and "id"',
    ],
    ['a line without data', lines(at({ data: undefined })), 'line 1: "data" is missing'],
    ['a line that is no object', lines(at({}), 7), 'line 2: an object is expected'],
  ])('%s', async (_, text, message, code = 'UNPROCESSABLE') => {
    const base = shared()
    const before = await base.export()
    const first = lines(at({ id: 'first' }))
    const whole = text.startsWith('{"realm"') || text.startsWith('{"type"') ? first + text : text
    const shifted =
      whole === text ? message : message.replace(/line (\d)/, (_, n) => `line ${Number(n) + 1}`)
    const refusal = await refusalOf(() => base.import(whole))
    expect<string>(refusal.code).toBe(code)
    expect(refusal.message).toContain(shifted)
    expect(await base.export()).toBe(before)
    await expectNothingLeft(base)
  })

  test.each<[string, unknown, string]>([
    [
      'an object of another realm',
      { name: 'b', realmId: 'eve' },
      '[1]: "realmId" is not the realm',
    ],
    ['no object', 7, '[1]: an object'],
    ['null', null, '[1]: an object'],
    ['no key where none is made', {}, '[1]: "name" is missing'],
    ['an export', { type: 'schema', tables: {} }, '[1]: this is the beginning of an export'],
  ])('as a plain file with %s', async (_, value, message) => {
    await using base = await setupDatabase()
    await base.import('{"schema":{"settings":"name"}}')
    const target = { table: 'settings', realm: 'rlm-public' }
    const refusal = await refusalOf(() =>
      base.import(JSON.stringify([{ name: 'a' }, value]), { target }),
    )
    expect(refusal.message).toContain(message)
    const unplaced = { table: 'settings', realm: null }
    const missing = await refusalOf(() => base.import('[{"name":"a"}]', { target: unplaced }))
    expect(missing.message).toContain('[0]: "realmId" is missing')
    expect(dataOf(await base.export())).toEqual([])
    await expectNothingLeft(base)
  })
})

describe('a file is closed when it is refused before its end', () => {
  const PIECE_BYTES = 64 * 1024
  const target = { table: 'todo', realm: 'rlm-public' }
  const create: Scratch['create'] = () => Promise.reject(new SatchelError('STORAGE_FULL', 'full'))

  test.each([
    ['neither JSON nor a zip', 'x', null, undefined],
    ['compressed', '\u001f', null, undefined],
    ['a zip for a table', 'PK\u0003\u0004', target, undefined],
    ['a zip on a full disk', 'PK\u0003\u0004', null, create],
    ['an array on a full disk', '[', target, create],
  ])('%s', async (_, beginning, into, failing) => {
    await using base = await setupDatabase()
    let isClosed = false
    async function* file() {
      try {
        for (let piece = 0; piece < 32; piece += 1) {
          yield Buffer.from(beginning.padEnd(PIECE_BYTES, ' '))
        }
      } finally {
        isClosed = true
      }
    }
    const context = contextOf(base.database)
    const scratch =
      failing === undefined ? context.scratch : { ...context.scratch, create: failing }
    const options = { ...IMPORT_OPTIONS, target: into }
    const code = await codeOf(() =>
      importFile({ ...context, scratch }, base.clock, file(), options),
    )
    expect(code).toBe(failing === undefined ? 'INVALID_REQUEST' : 'STORAGE_FULL')
    expect(isClosed).toBe(true)
  })
})

test.each([false, true])(
  'a caller who loses the right to import while the file is checked imports nothing (atomic: %p)',
  async (isAtomic) => {
    await using base = await setupDatabase()
    let asked = 0
    const allow = () => {
      asked += 1
      if (asked > 1) throw new SatchelError('INVALID_TOKEN', 'gone')
    }
    const file = lines({ realm: 'rlm-public', table: 'todo', id: 'x', data: {} })
    expect(await codeOf(() => base.import(file, { isAtomic, allow }))).toBe('INVALID_TOKEN')
    expect(dataOf(await base.export())).toEqual([])
    await expectNothingLeft(base)
  },
)
