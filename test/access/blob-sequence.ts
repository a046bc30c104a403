/** Random lives of blobs: uploads, shares, moves and what happens around them. */
import * as fc from 'fast-check'
import { put, remove, through } from './operation'
import { type Person, PUBLIC, rowsOf, type Value } from './oracle-world'
import { anyStep, PEOPLE, type Step } from './sequence'

export const IDS = ['red', 'green', 'never']

export interface UploadStep {
  readonly kind: 'upload'
  readonly person: (typeof PEOPLE)[number]
  readonly isGlobal: boolean
  readonly id: string
  readonly text: string
  readonly type: string
}

export type BlobStep =
  | UploadStep
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'collect' }
  | { readonly kind: 'write'; readonly step: Step }

const [ALICE, BOB, CAROL, DAN] = ['alice', 'bob', 'carol', 'dan'].map(
  (id) => PEOPLE.find((one) => one.id === id) ?? { id },
) as [Person, Person, Person, Person]

const person = fc.constantFrom(...PEOPLE)
/** Those who may write somewhere where others read. */
const sharer = fc.constantFrom(ALICE, ALICE, DAN, CAROL, BOB)
const place = fc.constantFrom<readonly [Person, string]>(
  [ALICE, 'rlmA'],
  [ALICE, 'rlmA'],
  [DAN, 'rlmB'],
  [CAROL, 'rlmB'],
  [ALICE, 'alice'],
  [BOB, 'bob'],
  [BOB, 'rlmB'],
)
const id = fc.constantFrom('red', 'red', 'red', ...IDS)
const realm = fc.constantFrom('rlmA', 'rlmB', 'rlm~tdi1', PUBLIC, ...PEOPLE.map(({ id }) => id))

const upload: fc.Arbitrary<BlobStep> = fc
  .record({
    person: sharer,
    isGlobal: fc.nat(6).map((n) => n === 0),
    id: fc.constantFrom('red', 'red', 'red', 'green'),
    text: fc.constantFrom('one', 'one', 'one', 'two'),
    type: fc.constantFrom('text/plain', 'text/plain', 'image/png'),
  })
  .map((drawn) => ({ kind: 'upload' as const, ...drawn }))

const reference = id.map((one): Value => ({ _bt: 'Blob', ref: `1:${one}`, size: 3 }))

/** Values that reference blobs, or only look like references. */
const mention: fc.Arbitrary<unknown> = fc.oneof(
  reference,
  reference.map((one) => [[{ deep: one }]]),
  fc.tuple(reference, reference),
  reference.map((one) => ({ ...one, v: 'AAAA' })),
  reference.map((one) => JSON.stringify(one)),
  fc.constant(null),
)

const table = fc.constantFrom('todoItems', 'todoItems', 'todoItems', 'members', 'realms')

/** A row that is there gets to name other blobs, or is copied, or moves with those it names. */
const share: fc.Arbitrary<BlobStep> = fc
  .record({
    person,
    isGlobal: fc.nat(9).map((n) => n === 0),
    table,
    place: fc.nat(20),
    key: fc.option(fc.constantFrom('tdi4', 'tdi5', 'tdi6'), { nil: undefined }),
    file: fc.option(mention, { nil: undefined }),
    realm: fc.option(realm, { nil: undefined }),
  })
  .map((drawn) => ({
    kind: 'write' as const,
    step: {
      person: drawn.person,
      name: drawn.isGlobal ? 'shares with GLOBAL_WRITE' : 'shares',
      operationIn(world) {
        const rows = rowsOf(world, drawn.table)
        const row = rows[drawn.place % rows.length]
        if (row === undefined) return undefined
        const isItem = drawn.table === 'todoItems'
        const changes = {
          ...(drawn.file === undefined ? {} : { file: drawn.file }),
          ...(drawn.realm === undefined || !isItem ? {} : { realmId: drawn.realm }),
          ...(drawn.key === undefined || !isItem ? {} : { id: drawn.key, owner: drawn.person.id }),
        }
        const operation = put(drawn.table, { ...row.value, ...changes })
        return drawn.isGlobal ? through('all', operation) : operation
      },
    },
  }))

const fresh: fc.Arbitrary<BlobStep> = fc
  .record({ place, key: fc.constantFrom('tdi4', 'tdi5', 'tdi6', 'tdi7'), file: mention })
  .map((drawn) => ({
    kind: 'write' as const,
    step: {
      person: drawn.place[0],
      name: 'puts',
      operationIn: () =>
        put('todoItems', {
          id: drawn.key,
          realmId: drawn.place[1],
          owner: drawn.place[0].id,
          file: drawn.file,
        }),
    },
  }))

/** The owner of a row that references a blob moves or deletes the row. */
const move: fc.Arbitrary<BlobStep> = fc
  .record({ person: sharer, place: fc.nat(20), realm, isRemoval: fc.nat(3).map((n) => n === 0) })
  .map((drawn) => ({
    kind: 'write' as const,
    step: {
      person: drawn.person,
      name: 'moves',
      operationIn(world) {
        const rows = rowsOf(world, 'todoItems').filter(
          ({ value }) => value['owner'] === drawn.person.id && value['file'] !== undefined,
        )
        const row = rows[drawn.place % rows.length]
        if (row === undefined) return undefined
        if (drawn.isRemoval) return remove('todoItems', row.key)
        return put('todoItems', { ...row.value, realmId: drawn.realm })
      },
    },
  }))

export const blobSteps: fc.Arbitrary<readonly BlobStep[]> = fc.array(
  fc.oneof(
    { arbitrary: upload, weight: 6 },
    { arbitrary: share, weight: 6 },
    { arbitrary: fresh, weight: 8 },
    { arbitrary: move, weight: 6 },
    { arbitrary: anyStep.map((step) => ({ kind: 'write' as const, step })), weight: 6 },
    {
      arbitrary: fc.constantFrom(12, 24).map((hours) => ({ kind: 'wait' as const, hours })),
      weight: 2,
    },
    { arbitrary: fc.constant({ kind: 'collect' as const }), weight: 2 },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)
