import { existsSync } from 'node:fs'
import { CHROMIUM } from '../browser/chromium'
import { mayMount } from '../small-disk'
import {
  backUpBesideWork,
  backUpFullSource,
  freezeTargets,
  stopBackups,
} from './backups-in-trouble'
import { backUpUnderLoad, type Load } from './backups-under-load'
import { damagePages } from './damage'
import { dripAway } from './drippers'
import type { Experiment } from './experiment'
import { failCalls } from './failing-calls'
import { canFreeze } from './frozen-disk'
import { heavyRequests } from './heavy-requests'
import { holdFrames } from './held-frames'
import { hostileSyncs } from './hostile-syncs'
import { importBesideCrowd } from './import-crowd'
import { timeHiddenObjects } from './hidden-times'
import { killBackups } from './kill-backups'
import { killCompactions } from './kill-compactions'
import { killDeletions } from './kill-deletions'
import { killPosts } from './kill-posts'
import { killSteps } from './kill-steps'
import { killUploads } from './kill-uploads'
import { killWriters } from './kill-writers'
import { timeAddresses } from './known-addresses'
import { canLoadLayer } from './layer'
import { serveManyDatabases } from './many-databases'
import { pageOperations } from './page-operations'
import { losePower, losePowerOfUploads } from './power-loss'
import { largeSyncs } from './large-syncs'
import { measureFirstSyncs } from './first-syncs'
import { restartBesideClients } from './restarts'
import { findPython, runSchemathesis } from './schemathesis'
import { timeSecrets } from './secret-times'
import { findSqlmap, runSqlmap } from './sqlmap'
import { floodSockets } from './socket-floods'
import { stallReaders } from './stalled-readers'
import { runTests } from './tests'

const powerObstacle = canLoadLayer() ? undefined : 'needs Linux and gcc'

const SMALL_BLOBS: Load['blobs'] = { count: 20_000, bytes: 4 * 1024 }
const LARGE_BLOBS: Load['blobs'] = { count: 5, bytes: 1024 ** 3 }

/** What backups are made of, beside what, and where the data and the backups are. */
const LOADS: readonly Load[] = [
  { rate: 1_000, mib: 1_000, blobs: SMALL_BLOBS, disks: { source: 'disk', target: 'memory' } },
  { rate: 1_000, mib: 1_000, blobs: SMALL_BLOBS, disks: { source: 'disk', target: 'disk' } },
  { rate: 5_000, mib: 1_000, blobs: SMALL_BLOBS, disks: { source: 'memory', target: 'disk' } },
  { rate: 1_000, mib: 100, blobs: LARGE_BLOBS, disks: { source: 'disk', target: 'disk' } },
  { rate: 1_000, mib: 10_000, blobs: SMALL_BLOBS, disks: { source: 'disk', target: 'disk' } },
]

/** In the order of the promises. */
export const experiments: readonly Experiment[] = [
  {
    promise: 1,
    title: 'an acknowledged write survives kill -9 under 8 to 64 writers',
    unit: 'kills',
    rounds: 200,
    async run(rounds, seed) {
      const { acknowledged, problems } = await killWriters(rounds, seed)
      return { facts: `${acknowledged} writes acknowledged, ${problems.length} lost`, problems }
    },
  },
  {
    promise: 1,
    title:
      'an acknowledged blob survives kill -9 under 4 to 24 uploaders, and nothing else is left',
    unit: 'kills',
    rounds: 200,
    async run(rounds, seed) {
      const { acknowledged, broken, problems } = await killUploads(rounds, seed)
      return { facts: `${acknowledged} blobs acknowledged, ${broken} broken off`, problems }
    },
  },
  {
    promise: 2,
    title: 'with --durability full it survives that the disk forgets what was not synced',
    unit: 'power cuts',
    rounds: 100,
    obstacle: powerObstacle,
    async run(rounds, seed) {
      const { acknowledged, forgotten, lost, broken } = await losePower(rounds, seed, 'full')
      const facts = `${acknowledged} writes acknowledged, ${lost.length} lost, ${forgotten} bytes forgotten`
      return { facts, problems: [...lost, ...broken] }
    },
  },
  ...(['kept', 'none'] as const).map((order): Experiment => ({
    promise: 2,
    title:
      order === 'kept'
        ? 'every acknowledged blob is whole when the disk forgets what was not synced, and nothing else is left'
        : 'the same, but for files too many, when the disk keeps no order in the names that it forgets',
    unit: 'power cuts',
    rounds: 100,
    obstacle: powerObstacle,
    async run(rounds, seed) {
      const found = await losePowerOfUploads(rounds, seed, 'full', order)
      const { acknowledged, broken, strays, forgotten, problems } = found
      const lost = `${forgotten.bytes} bytes and ${forgotten.names} names forgotten`
      const facts = `${acknowledged} blobs acknowledged, ${broken} broken off, ${lost}, ${strays} files too many`
      return { facts, problems }
    },
  })),
  {
    promise: 2,
    title: 'with --durability relaxed the database is whole afterwards',
    unit: 'power cuts',
    rounds: 30,
    obstacle: powerObstacle,
    async run(rounds, seed) {
      const { acknowledged, lost, broken } = await losePower(rounds, seed, 'relaxed')
      return { facts: `${lost.length} of ${acknowledged} writes lost`, problems: broken }
    },
  },
  {
    promise: 2,
    title: 'with --durability relaxed a blob that is there is whole afterwards',
    unit: 'power cuts',
    rounds: 30,
    obstacle: powerObstacle,
    async run(rounds, seed) {
      const found = await losePowerOfUploads(rounds, seed, 'relaxed', 'kept')
      const { acknowledged, lost, problems } = found
      return { facts: `${lost} of ${acknowledged} blobs lost`, problems }
    },
  },
  {
    promise: 3,
    title: 'a damaged page is refused, answered with an error, named or of no consequence',
    unit: 'pages',
    rounds: 500,
    async run(rounds, seed) {
      const { refused, answered, named, unchanged, problems } = await damagePages(rounds, seed)
      const facts = `${refused} refused, ${answered} answered with an error, ${named} named, ${unchanged} of no consequence`
      return { facts, problems }
    },
  },
  {
    promise: 4,
    title: 'a full disk refuses objects and blobs, loses none and needs no restart',
    unit: 'rounds',
    rounds: 20,
    obstacle: mayMount ? undefined : 'only root may mount',
    run: (rounds, seed) =>
      runTests(['test/sqlite/full-disk', 'test/blobs/disk/full-disk'], rounds, seed, rounds),
  },
  {
    promise: 5,
    title:
      'when a system call fails, each of more than 500 in turn, the state is the old or the new one, and the work goes on',
    unit: 'failing calls',
    rounds: 600,
    obstacle: powerObstacle,
    async run(rounds) {
      const { calls, outcomes, problems } = await failCalls(rounds)
      const counts = [...outcomes].map(([outcome, count]) => `${outcome} ${count}`)
      return { facts: `${calls} calls in a session; refused with: ${counts.join(', ')}`, problems }
    },
  },
  {
    promise: 6,
    title: 'of a POST of 1,000 objects that kill -9 hits, all or nothing is visible',
    unit: 'kills',
    rounds: 200,
    async run(rounds, seed) {
      const { nothing, everything, problems } = await killPosts(rounds, seed)
      return { facts: `nothing of ${nothing} POSTs, all of ${everything}`, problems }
    },
  },
  {
    promise: 6,
    title: 'an operation on 8,000 rows that kill -9 hits is finished by a repeat, once',
    unit: 'kills',
    rounds: 50,
    async run(rounds, seed) {
      const { halfDone, problems } = await killSteps(rounds, seed)
      return { facts: `half done after ${halfDone} kills`, problems }
    },
  },
  {
    promise: 22,
    title: 'the time of step 1 of a login by e-mail does not reveal whether an address is a user’s',
    unit: 'addresses of each',
    rounds: 10_000,
    run: (rounds, seed) => timeAddresses(rounds, seed),
  },
  {
    promise: 23,
    title: 'how long a comparison of secrets takes tells nothing about them',
    unit: 'samples of each',
    rounds: 100_000,
    run: (rounds, seed) => timeSecrets(rounds, seed),
  },
  {
    promise: 6,
    title: 'a user with 100,000 objects in 50 realms goes realm by realm, kill -9 or not',
    unit: 'deletions',
    rounds: 12,
    async run(rounds, seed) {
      const { kills, untouched, begun, problems } = await killDeletions(rounds, seed, 100_000)
      const facts = `${kills} kills, the first before ${untouched} deletions and during ${begun}`
      return { facts, problems }
    },
  },
  {
    promise: 24,
    title: 'random histories of members, roles, moves and deletes agree with the oracle',
    unit: 'histories',
    rounds: 5_000,
    run: (rounds, seed) => runTests(['test/access', 'test/promises/24'], rounds, seed),
  },
  {
    promise: 24,
    title: 'how long a read takes does not reveal how large an object of another user is',
    unit: 'reads of each',
    rounds: 10_000,
    run: (rounds, seed) => timeHiddenObjects(rounds, seed),
  },
  {
    promise: 28,
    title: 'names that mean something elsewhere are data',
    unit: 'objects',
    rounds: 20_000,
    run: (rounds, seed) => runTests(['test/promises/28'], rounds, seed),
  },
  {
    promise: 29,
    title: 'no error body is larger than 4 KiB, for any input',
    unit: 'inputs',
    rounds: 2_000,
    run: (rounds, seed) => runTests(['test/promises/29'], rounds, seed),
  },
  {
    promise: 30,
    title: 'no text of a caller is ever in a statement',
    unit: 'names',
    rounds: 2_000,
    run: (rounds, seed) => runTests(['test/promises/30'], rounds, seed),
  },
  {
    promise: 30,
    title: 'sqlmap finds nothing',
    unit: 'passes',
    rounds: 1,
    obstacle: findSqlmap() === undefined ? 'needs sqlmap' : undefined,
    run: (rounds) => runSqlmap(rounds),
  },
  {
    promise: 33,
    title:
      'Schemathesis finds no 5xx, no answer that the document does not describe, no ignored token',
    unit: 'minutes',
    rounds: 10,
    obstacle: findPython() === undefined ? 'needs Python 3.10 with venv' : undefined,
    run: (rounds, seed) => runSchemathesis(rounds, seed),
  },
  {
    promise: 33,
    title: 'random requests of every operation are answered as the document describes',
    unit: 'requests of each',
    rounds: 2_000,
    run: (rounds, seed) => runTests(['test/promises/33'], rounds, seed),
  },
  {
    promise: 34,
    title:
      'a thousand callers drip headers and two thousand bodies: all are cut, and no other caller is slower',
    unit: 'rounds',
    rounds: 3,
    run: (rounds) => dripAway(rounds),
  },
  ...heavyRequests,
  ...pageOperations,
  {
    promise: 35,
    title: '100 readers who take nothing are cut, and memory stays below 512 MB',
    unit: 'rounds',
    rounds: 2,
    run: (rounds) => stallReaders(rounds),
  },
  {
    promise: 35,
    title:
      '100 posts of maximal size at once stay below 512 MB, whether they say their length or not',
    unit: 'rounds',
    rounds: 10,
    run: (rounds, seed) => runTests(['test/promises/35'], rounds, seed, rounds),
  },
  {
    promise: 35,
    title: '100 databases of which 20 are busy take at most 300 MB and 20 threads',
    unit: 'rounds',
    rounds: 2,
    run: (rounds) => serveManyDatabases(rounds),
  },
  {
    promise: 35,
    title: 'an import with 1,000 sockets open takes at most 128 MB, and others read within 300 ms',
    unit: 'thousand rows',
    rounds: 1_000,
    run: (rounds) => importBesideCrowd(rounds),
  },
  {
    promise: 45,
    title: 'ten restarts in a minute beside twenty published clients that write',
    unit: 'restarts',
    rounds: 10,
    run: (rounds) => restartBesideClients(rounds),
  },
  {
    promise: 46,
    title: 'simulated clients converge, see what they may see and respect cause and effect',
    unit: 'histories',
    rounds: 100_000,
    run: (rounds, seed) => runTests(['test/sync/model/model.test.ts'], rounds, seed),
  },
  {
    promise: 46,
    title: 'clients of an executable that is killed converge, and each change is stored once',
    unit: 'histories',
    rounds: 50,
    run: (rounds, seed) => runTests(['test/sync/model/executable.test.ts'], rounds, seed),
  },
  {
    promise: 46,
    title: 'a page in Chromium survives a first sync of 100,000 rows, and maybe more',
    unit: 'rows at most',
    rounds: 1_000_000,
    obstacle: existsSync(CHROMIUM) ? undefined : 'needs Chromium',
    run: (rounds) => measureFirstSyncs(rounds),
  },
  {
    promise: 48,
    title: 'nobody else waits: 1 and 20 anonymous sockets send frames as fast as they can',
    unit: 'rounds',
    rounds: 1,
    run: (rounds) => floodSockets(rounds),
  },
  {
    promise: 48,
    title: 'the process lives on when anonymous sockets each hold most of a frame of 64 MiB',
    unit: 'rounds',
    rounds: 1,
    run: () => holdFrames(),
  },
  ...hostileSyncs,
  ...largeSyncs,
  {
    promise: 52,
    title: 'a backup that is killed, or whose server is, breaks and leaves nothing',
    unit: 'kills',
    rounds: 50,
    async run(rounds, seed) {
      const { servers, commands, problems } = await killBackups(rounds, seed)
      const facts = `${servers} servers and ${commands} commands killed while a backup was made`
      return { facts, problems }
    },
  },
  {
    promise: 57,
    title: 'a compaction that is killed at any of its system calls leaves a whole database',
    unit: 'kills',
    rounds: 1_000,
    obstacle: powerObstacle,
    async run(rounds) {
      const { calls, problems } = await killCompactions(rounds)
      return { facts: `${calls} system calls`, problems }
    },
  },
  ...LOADS.map(({ rate, mib, blobs, disks }): Experiment => ({
    promise: 7,
    title: `a backup of ${mib.toLocaleString('en')} MiB from ${disks.source} to ${disks.target} under ${rate.toLocaleString('en')} writes a second is a prefix of the commits, with ${blobs.count.toLocaleString('en')} blobs`,
    unit: 'MiB of objects',
    rounds: mib,
    obstacle: existsSync('/dev/shm') ? undefined : 'needs /dev/shm',
    async run(rounds) {
      const count = Math.min(blobs.count, 20 * rounds)
      const found = await backUpUnderLoad({
        rate,
        mib: rounds,
        blobs: { ...blobs, count },
        disks,
      })
      const { p99, seconds, size, log, logAfter, growth, problems } = found
      const round = Math.round
      const facts = `${round(size)} MiB in ${round(seconds)} s beside ${round(found.rate)} writes a second; p99 ${round(p99.before)}, ${round(p99.during)}, ${round(p99.after)} ms; log ${round(log)}, then ${round(logAfter)} MiB; the server +${round(growth)} MiB`
      return { facts, problems }
    },
  })),
  {
    promise: 7,
    title:
      'a backup during an erasure, an import, an index build, a verification or a compaction is whole',
    unit: 'rows',
    rounds: 20_000,
    run: backUpBesideWork,
  },
  {
    promise: 7,
    title: 'a backup whose command stands still holds up nobody, and goes on',
    unit: 'MiB of objects',
    rounds: 100,
    run: stopBackups,
  },
  {
    promise: 7,
    title: 'a disk for backups that hangs holds up nobody, and the backup goes on',
    unit: 'backups',
    rounds: 3,
    obstacle: canFreeze() ? undefined : 'needs root and fsfreeze',
    run: freezeTargets,
  },
  {
    promise: 4,
    title: 'a data folder on a full disk is backed up to another one',
    unit: 'backups',
    rounds: 1,
    obstacle: mayMount ? undefined : 'needs root',
    run: backUpFullSource,
  },
]
