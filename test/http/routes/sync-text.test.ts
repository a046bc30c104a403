import { expect, test } from 'bun:test'
import { until } from '../../timing'
import { ALICE, setupData } from '../setup'

const MARKED = { markedForSync: true, initiallySynced: true }
const UPDATE = {
  type: 'u-c',
  table: 'plain',
  prop: 'doc',
  k: 'a',
  u: { $t: 'Uint8Array', v: '0005aSrrd1l000442GPpQ6LhR6x11G4100010G00' },
  i: 1,
}
const VECTOR = {
  type: 'sv',
  table: 'plain',
  prop: 'doc',
  k: 'a',
  sv: { $t: 'Uint8Array', v: '00' },
}
const LONG = 'x'.repeat(4 * 1024 * 1024)

test.each([
  ['', UPDATE],
  [' in a large request', { ...UPDATE, u: { $t: 'Uint8Array', v: LONG } }],
])(
  'text of a Y.Doc%s is refused before anything is stored, with a line in the log',
  async (_, update) => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const push = (y: readonly object[], title: string) => {
      const mut = {
        type: 'insert',
        keys: ['a'],
        values: [{ id: 'a', title }],
        txid: title,
        ts: 1,
        rev: 1,
      }
      return alice.post('/sync', {
        v: 3,
        clientIdentity: 'device',
        schema: { plain: MARKED, secret: { ...MARKED, primaryKey: 'id' } },
        changes: [{ table: 'plain', muts: [{ ...mut, userId: ALICE }] }],
        y,
      })
    }
    for (const y of [[update], [VECTOR, update]]) {
      const { status, body } = await push(y, 'lost')
      expect({ status, body }).toMatchObject({
        status: 422,
        body: { code: 'UNPROCESSABLE', reason: 'plain.doc' },
      })
      expect((body as { message: string }).message).toContain(
        'the device keeps its objects and its text',
      )
    }
    expect((await alice.get('/my/plain')).body).toEqual([])
    expect((await alice.get('/my/secret')).status).toBe(404)
    const lines = () => server.lines.filter((line) => line.includes('collaborative text'))
    await until(() => lines().length === 2)
    expect(lines()[0]).toContain('plain.doc')
    const answer = await push([VECTOR], 'kept')
    expect(answer.status).toBe(200)
    expect(answer.body).not.toHaveProperty('yMessages')
    expect((await alice.get('/my/plain/a')).body).toMatchObject({ title: 'kept' })
  },
)
