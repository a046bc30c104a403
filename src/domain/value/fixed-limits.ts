import { unprocessable } from './error'

/** A limit that no setting changes. */
export interface FixedLimit {
  readonly most: number
  readonly unit: string
  /** The thing that has at most so many. */
  readonly of: string
  readonly beyond:
    | 'the request is refused'
    | 'the transaction is rejected'
    | 'new connections of the sender are refused for a minute'
    | 'new ones are refused'
    | 'live connections are closed, those without a token first'
    | 'the one that was seen longest ago is forgotten, and syncs anew'
    | 'the oldest is forgotten'
    | 'it is executed, and not kept'
    | 'the others are left out'
    | 'others wait, and one of which nothing is taken for 10 seconds is cut'
}

/**
 * The limits that no setting changes, in a table of the guide (docs/operations.md). Published clients
 * repeat a refused request and undo a rejected transaction: a transaction that no honest client makes is
 * rejected, and a request with too much outside its transactions is refused.
 */
export const FIXED_LIMITS = {
  syncBytes: {
    most: 256 * 1024 * 1024,
    unit: 'bytes',
    of: 'a sync request',
    beyond: 'the request is refused',
  },
  syncValues: {
    most: 5_000_000,
    unit: 'values',
    of: 'the fields of a sync request that the server reads',
    beyond: 'the request is refused',
  },
  rowValues: {
    most: 1_000_000,
    unit: 'values',
    of: 'a row, the criteria or the changes of one row in a sync request',
    beyond: 'the transaction is rejected',
  },
  tables: {
    most: 500,
    unit: 'tables',
    of: 'a database, hidden tables included, and the schema in a sync request',
    beyond: 'the request is refused',
  },
  textProperties: {
    most: 100,
    unit: 'properties',
    of: 'the `Y.Doc` properties in the schema of a sync request, each with a name of at most 256 characters',
    beyond: 'the request is refused',
  },
  indexCharacters: {
    most: 1_024,
    unit: 'characters',
    of: 'an index name in the criteria of a sync operation',
    beyond: 'the transaction is rejected',
  },
  indexParts: {
    most: 16,
    unit: 'parts',
    of: 'a compound index in such criteria',
    beyond: 'the transaction is rejected',
  },
  pathCharacters: {
    most: 4_096,
    unit: 'characters',
    of: 'a property path that a sync operation changes',
    beyond: 'the transaction is rejected',
  },
  listElements: {
    most: 50_000,
    unit: 'elements',
    of: 'a list that a property modification changes, and what it adds or removes',
    beyond: 'the transaction is rejected',
  },
  transactionObjects: {
    most: 100_000,
    unit: 'objects',
    of: 'a sync transaction of several operations (one operation may have any number)',
    beyond: 'the transaction is rejected',
  },
  transactionRows: {
    most: 5_000,
    unit: 'realms, members and roles',
    of: 'the same of the built-in tables',
    beyond: 'the transaction is rejected',
  },
  copiedCharacters: {
    most: 64 * 1024 * 1024,
    unit: 'characters',
    of: 'what the changes of a sync transaction copy into several objects each (changes of up to 1,024 characters do not count)',
    beyond: 'the transaction is rejected',
  },
  reachedCharacters: {
    most: 128 * 1024 * 1024,
    unit: 'characters',
    of: 'the objects that a sync transaction changes, as they were before (of one operation on very many: a thousand of them)',
    beyond: 'the transaction is rejected',
  },
  keptOperations: {
    most: 1_000,
    unit: 'operations',
    of: 'the operations by criteria of a user on a table that are kept for late objects',
    beyond: 'the oldest is forgotten',
  },
  keptCharacters: {
    most: 16_384,
    unit: 'characters',
    of: 'the criteria and changes of one of them',
    beyond: 'it is executed, and not kept',
  },
  replaySteps: {
    most: 600_000,
    unit: 'comparisons',
    of: 'late objects of a push, 500 at a time, with kept operations (applying one counts as 150; long ones and large objects count by their length)',
    beyond: 'the others are left out',
  },
  userClients: {
    most: 100,
    unit: 'devices',
    of: 'the devices of a user',
    beyond: 'the one that was seen longest ago is forgotten, and syncs anew',
  },
  waitingSyncs: {
    most: 1_000,
    unit: 'at a time',
    of: 'syncs of a user, or of a network without a token, that wait because of `firstSyncs`',
    beyond: 'new ones are refused',
  },
  streamedSyncs: {
    most: 2,
    unit: 'at a time',
    of: 'long answers to syncs of a user, or of a network without a token, of eight to all callers',
    beyond: 'others wait, and one of which nothing is taken for 10 seconds is cut',
  },
  frameMebibytes: {
    most: 64,
    unit: 'MiB',
    of: 'a frame of a live connection',
    beyond: 'new connections of the sender are refused for a minute',
  },
  frameMemory: {
    most: 1_024,
    unit: 'MiB',
    of: 'the memory outside of its heap with which the process looks for unfinished frames of live connections',
    beyond: 'live connections are closed, those without a token first',
  },
  networkFrames: {
    most: 1_000,
    unit: 'in a minute',
    of: 'excess frames of the live connections of a network without a token (beyond 60 at once and 10 a second each)',
    beyond: 'new connections of the sender are refused for a minute',
  },
  userFrames: {
    most: 100_000,
    unit: 'in a minute',
    of: 'excess frames of the live connections of a user',
    beyond: 'new connections of the sender are refused for a minute',
  },
  anonymousSockets: {
    most: 500,
    unit: 'at a time',
    of: 'live connections of a network without a token',
    beyond: 'new ones are refused',
  },
} as const satisfies Record<string, FixedLimit>

/** Throws `UNPROCESSABLE` when there are more. */
export function requireFew(limit: FixedLimit, count: number): void {
  if (count <= limit.most) return
  throw unprocessable(
    `The limit of ${limit.of} is ${mostOf(limit)}, and here are ${count}: nothing was stored`,
  )
}

/** The figure of a limit with its unit, for sentences: `1,024 characters`. */
export function mostOf({ most, unit }: FixedLimit): string {
  return `${most.toLocaleString('en')} ${unit}`
}
