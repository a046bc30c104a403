import type { Workload } from './bench'
import { blobWorkloads } from './blobs/workloads'
import { measureDownloads } from './download'
import { emptyTable, largeTable } from './fixture'
import { unitsPerSync } from './probes/fsync'
import { listMemory } from './probes/list-memory'
import { startUp } from './probes/start'
import { throwAway } from './probes/throwaway'
import { userOrders, userSearches } from './probes/users'
import { walSize } from './probes/wal'
import { writersDuringDeletion, writersDuringImport, writersDuringPost } from './probes/writers'
import { race, races } from './race'
import {
  batches,
  crowds,
  list,
  loneCountries,
  pages,
  points,
  singleObjects,
  tokens,
} from './requests'
import { ratio } from './result'
import { liveSync } from './sync/workload'
import { listerItems, pageItems, writerRealms } from './rows'

const threeIndexes = ['country', 'rank', 'title']
const oneRealm = writerRealms.slice(0, 1)

/** The table of design.md §7, in its order; its hottest paths in production too. */
export const workloads: readonly Workload[] = [
  ...races({
    name: 'point-read',
    title: 'GET /my/<t>/<key>, 10,000 keys',
    fixture: largeTable,
    floors: [{ floor: 'point', bar: ratio(0.68, 0.8) }],
    actor: 'reader',
    load: points,
    objectsPerRequest: () => 1,
  }),
  race({
    name: 'my-list',
    title: 'GET /my/<t>, 100 visible of all',
    fixture: largeTable,
    floors: [{ floor: 'realms', bar: ratio(0.6, 0.8) }],
    actor: 'lister',
    load: () => list('/my/items'),
    objectsPerRequest: () => listerItems,
  }),
  ...races({
    name: 'small-list',
    title: 'GET /all/<t>, 1,000 objects',
    fixture: largeTable,
    floors: [{ floor: 'small-list', bar: ratio(0.78, 0.9) }],
    actor: 'client',
    load: () => list('/all/thousand'),
    objectsPerRequest: () => 1000,
  }),
  race({
    name: 'large-list',
    title: 'GET /all/<t>, all objects, one reader',
    fixture: largeTable,
    floors: [{ floor: 'stream', bar: ratio(0.7, 0.9) }],
    actor: 'client',
    load: () => list('/all/items'),
    objectsPerRequest: (rows) => rows,
    measure: measureDownloads,
  }),
  listMemory,
  ...races({
    name: 'filter-1',
    title: 'GET …?prop=value, 1 of all',
    fixture: largeTable,
    floors: [{ floor: 'filter', bar: ratio(0.7, 0.85) }],
    actor: 'client',
    load: loneCountries,
    objectsPerRequest: () => 1,
  }),
  race({
    name: 'filter-1000',
    title: 'GET …?prop=value, 1,000 of all',
    fixture: largeTable,
    floors: [{ floor: 'filter', bar: ratio(0.65, 0.8) }],
    actor: 'client',
    load: crowds,
    objectsPerRequest: () => 1000,
  }),
  ...races({
    name: 'page',
    title: 'GET /my/<t>?prop=value, 30 a page, a member of 1,000 realms',
    fixture: largeTable,
    floors: [{ floor: 'page', bar: ratio(0.65, 0.8) }],
    actor: 'joiner',
    load: pages,
    objectsPerRequest: () => pageItems,
  }),
  ...races({
    name: 'post-single',
    title: 'POST /my/<t> one object, 50 realms',
    fixture: emptyTable(),
    floors: [
      { floor: 'group', bar: ratio(0.66, 0.8) },
      { floor: 'single', bar: ratio(2.2, 3) },
    ],
    actor: 'writer',
    load: singleObjects,
    objectsPerRequest: () => 1,
  }),
  unitsPerSync,
  ...postBatch('post-batch', '1 realm, no index', oneRealm, []),
  ...postBatch('post-batch-realms', '50 realms, no index', writerRealms, []),
  ...postBatch('post-batch-indexes', '1 realm, 3 indexes', oneRealm, threeIndexes),
  ...postBatch('post-batch-realms-indexes', '50 realms, 3 indexes', writerRealms, threeIndexes),
  writersDuringPost,
  writersDuringImport,
  writersDuringDeletion,
  walSize,
  race({
    name: 'token',
    title: 'POST /token client_credentials',
    fixture: emptyTable(),
    floors: [{ floor: 'token', bar: ratio(0.65, 0.8) }],
    load: (_rows, client) => tokens(client),
    objectsPerRequest: () => 1,
  }),
  userOrders,
  userSearches,
  liveSync,
  ...blobWorkloads,
  startUp,
  throwAway,
]

function postBatch(
  name: string,
  what: string,
  realms: readonly string[],
  indexes: readonly string[],
): Workload[] {
  return races({
    name,
    title: `POST /all/<t> 1,000 objects, ${what}`,
    fixture: emptyTable(indexes),
    floors: [{ floor: 'batch', bar: ratio(0.65, 0.8) }],
    actor: 'client',
    load: () => batches(realms),
    objectsPerRequest: () => 1000,
  })
}
