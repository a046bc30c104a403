import { issueCode } from '../auth/grant/authorization-code'
import { returnAddress } from '../auth/provider/provider-login'
import type { Clock } from '../clock'
import { listOrigins } from '../domain/database/origin'
import { requireRedirect } from '../domain/database/redirect'
import type { ReadTx } from '../domain/store/store'
import type { DatabaseImage, TestStore } from '../domain/store/test-store'
import { requireEmail } from '../domain/value/email'
import { quoted, SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { newSecret } from '../domain/value/secret'
import type { OpenDatabase } from '../host/host'
import type { Hosts } from '../host/hosts'
import { type Fault, SERVICE, type Testing } from '../host/test-mode'
import { createMailbox, type KeptMail, keptMail, type Mailbox } from '../host/mailbox'
import { changeClock, clockAt, type ClockState, type MovableClock, REAL_TIME } from './clock'
import { changeFault, NO_FAULT } from './fault'
import type { Idp } from './idp'
import { listFiles } from '../domain/blob/verification'

/** The test state of one database. */
interface Bench {
  clock: MovableClock
  readonly mailbox: Mailbox
  readonly snapshots: Map<string, Snapshot>
  fault: Fault
  /** The login provider, when it was opened. */
  idp: Idp | undefined
  base: Base | undefined
  /** True when `reset` applies the seed. */
  isSeeded: boolean
}

interface Snapshot {
  /** By the machine, ms. */
  readonly created: number
  readonly image: DatabaseImage
  readonly clock: ClockState
  readonly mails: readonly KeptMail[]
  /** The files of all blobs at the time, which stay while the snapshot does. */
  readonly files: ReadonlySet<string>
}

/** A state to return to, as long as `kept` is what it was. */
interface Base {
  readonly snapshot: Snapshot
  /** Everything that `reset` keeps. */
  readonly kept: string
}

/** So many snapshots may be kept for each database: they are in memory. */
const MOST_SNAPSHOTS = 100
/** So many mails are kept for each database. */
const MOST_MAILS = 1_000

export function createTesting(machine: Clock, token: string): Testing {
  const benches = new Map<string, Bench>()
  let hosts: Hosts
  let store: TestStore
  let seed = async (_host: OpenDatabase): Promise<void> => undefined

  function benchOf(database: string): Bench {
    const known = benches.get(database)
    if (known !== undefined) return known
    const bench: Bench = {
      clock: clockAt(machine, REAL_TIME),
      mailbox: createMailbox(MOST_MAILS),
      snapshots: new Map(),
      fault: NO_FAULT,
      idp: undefined,
      base: undefined,
      isSeeded: false,
    }
    benches.set(database, bench)
    return bench
  }

  async function takeSnapshot({ name, authority, database }: OpenDatabase): Promise<Snapshot> {
    await authority.settleLogins()
    const { clock, mailbox } = benchOf(name)
    const files = new Set(await Array.fromAsync(listFiles(database), ({ file }) => file))
    const image = await store.image(name)
    return { created: machine.now(), image, clock: clock.state, mails: mailbox.mails, files }
  }

  async function restoreTo(database: string, snapshot: Snapshot): Promise<OpenDatabase> {
    const bench = benchOf(database)
    const host = await hosts.reopen(database, async () => {
      await store.restore(database, snapshot.image)
      // A clock of its own: steady clocks that began at another time must not go on.
      bench.clock = clockAt(machine, snapshot.clock)
    })
    bench.mailbox.replace(snapshot.mails)
    return host
  }

  function getSnapshot(database: string, id: string): Snapshot {
    const snapshot = benchOf(database).snapshots.get(id)
    if (snapshot !== undefined) return snapshot
    throw new SatchelError(
      'UNKNOWN_OBJECT',
      `There is no snapshot ${quoted(id)} of the database ${database}`,
    )
  }

  async function begin(host: OpenDatabase): Promise<void> {
    const bench = benchOf(host.name)
    bench.isSeeded = true
    bench.base = await takeBase(host)
  }

  async function takeBase(host: OpenDatabase): Promise<Base> {
    return { snapshot: await takeSnapshot(host), kept: await keptOf(host) }
  }

  /** Moves to a time before the present one: everything that has seen the present is opened again. */
  async function goBack(host: OpenDatabase, state: ClockState): Promise<void> {
    const time = state.frozen ?? machine.now() + state.offset
    await host.authority.settleLogins()
    await host.database.write((tx) => tx.setLatestTime(time))
    await restoreTo(host.name, { ...(await takeSnapshot(host)), clock: state })
  }

  return {
    token,
    clockOf: (database) => benchOf(database).clock,
    keepMail: (message) => benchOf(SERVICE).mailbox.keep(keptMail(message, 'printed', true)),
    isPinned(database, file) {
      const { base, snapshots } = benchOf(database)
      return (
        base?.snapshot.files.has(file) === true ||
        [...snapshots.values()].some(({ files }) => files.has(file))
      )
    },
    opened(opened, images) {
      hosts = opened
      store = images
      hosts.watch({
        opened() {},
        disconnected() {},
        removed: (name) => benches.delete(name),
      })
    },
    seededBy(seeding) {
      seed = seeding
    },
    begin,

    async snapshot(database) {
      const { snapshots } = benchOf(database)
      if (snapshots.size >= MOST_SNAPSHOTS) {
        throw new SatchelError(
          'CONFLICT',
          `There are ${MOST_SNAPSHOTS} snapshots of this database already: delete some`,
        )
      }
      const id = `snapshot-${randomToken(9)}`
      snapshots.set(id, await takeSnapshot(await hosts.open(database)))
      return { id }
    },

    snapshots(database) {
      const taken = [...benchOf(database).snapshots].toReversed()
      return taken.map(([id, { created }]) => ({ id, created }))
    },

    async restore(database, id) {
      await restoreTo(database, getSnapshot(database, id))
      benchOf(database).fault = NO_FAULT
    },

    removeSnapshot(database, id) {
      getSnapshot(database, id)
      benchOf(database).snapshots.delete(id)
    },

    async fork(database, id) {
      const snapshot = getSnapshot(database, id)
      const name = `${database.slice(0, 40)}-${crypto.randomUUID().slice(0, 8)}`
      const bench = benchOf(name)
      bench.clock = clockAt(machine, snapshot.clock)
      bench.isSeeded = benchOf(database).isSeeded
      await hosts.make(name, () => store.fork(name, snapshot.image, database))
      return name
    },

    async reset(database) {
      const host = await hosts.open(database)
      const bench = benchOf(database)
      const { base } = bench
      bench.fault = NO_FAULT
      if (base !== undefined && base.kept === (await keptOf(host))) {
        await restoreTo(database, base.snapshot)
        return
      }
      const emptied = await hosts.reopen(database, async () => {
        await store.empty(database)
        bench.clock = clockAt(machine, REAL_TIME)
      })
      bench.mailbox.replace([])
      if (bench.isSeeded) await seed(emptied)
      bench.base = await takeBase(emptied)
    },

    mailbox: (database) => benchOf(database).mailbox,

    async openIdp(database, people) {
      const host = await hosts.open(database)
      const bench = benchOf(database)
      const address = await addressOf(host)
      const { createIdp } = await import('./idp')
      const issuer = `${address}/_test/idp`
      // A jump of the clock replaces the clock of the bench: ask for it each time.
      bench.idp ??= createIdp(issuer, `${address}/oauth/callback/`, {
        now: () => benchOf(database).clock.now(),
      })
      if (people !== null) bench.idp.people = people
      const { clientId, clientSecret } = bench.idp
      const { id } = await host.providers.put({
        type: 'custom-oauth2',
        id: IDP_NAME,
        displayName: 'Test',
        iconUrl: null,
        clientId,
        secret: clientSecret,
        scopes: ['openid', 'email', 'profile'],
        options: { issuer },
      })
      return id
    },

    async idpLogin(database, { as, provider, redirectUri }) {
      const host = await hosts.open(database)
      const { idp } = benchOf(database)
      if (idp === undefined) {
        throw new SatchelError(
          'CONFLICT',
          'Open the login provider for tests first: POST _test/idp',
        )
      }
      const contact = { provider, address: await addressOf(host), isDevelopment: true }
      const begun = await host.providers.begin({
        ...contact,
        redirectUri,
        scopes: null,
        browser: undefined,
      })
      const { searchParams } = new URL(begun.location)
      if (!searchParams.has('client_id')) return begun.location
      const email = requireEmail(as)
      const person = idp.people.find((each) => each.email === email) ?? {
        email,
        name: null,
        failure: null,
      }
      const callback = new URL(idp.authorize(searchParams, person))
      const finished = await host.providers.finish({
        ...contact,
        query: callback.searchParams,
        browser: begun.browser,
      })
      return finished.location
    },

    async idpRespond(database, request) {
      const { idp } = benches.get(database) ?? {}
      return (await idp?.respond(request)) ?? { status: 404, type: 'text/plain', body: '' }
    },

    fault(database, change) {
      const bench = benchOf(database)
      bench.fault = changeFault(bench.fault, change)
      if (bench.fault.offline) hosts.disconnect(database)
      return bench.fault
    },

    faultFor({ url }) {
      const [, , , database = '', next = ''] = url.split('/', 5)
      const { fault } = benches.get(database) ?? { fault: NO_FAULT }
      const isFailing = Object.values(fault).some((value) => value !== 0 && value !== false)
      return isFailing && !next.startsWith('_test') ? fault : undefined
    },

    async login(database, order) {
      const { authority, database: opened } = await hosts.open(database)
      const email = requireEmail(order.email)
      const person = { id: email, email, name: order.name ?? email }
      const newCode = () => opened.write((tx) => issueCode(tx, person, authority.clock.now()))
      const redirect = order.page === null ? undefined : await findPage(opened, order.page)
      const answer = await authority.grant({
        parameters: {
          grant_type: 'authorization_code',
          code: await newCode(),
          ...(order.publicKey === null ? {} : { public_key: order.publicKey }),
        },
        authorization: null,
      })
      if (answer.type !== 'tokens') throw new Error('a login code gives tokens')
      if (redirect === undefined) return answer
      const state = { id: newSecret(), provider: 'test' }
      return { ...answer, url: returnAddress(redirect, state, { code: await newCode() }) }
    },

    async clock(database, change) {
      const host = await hosts.open(database)
      const { clock } = benchOf(database)
      const before = clock.now()
      const state = changeClock(machine, clock.state, change)
      if ((state.frozen ?? machine.now() + state.offset) < before) {
        await goBack(host, state)
      } else {
        clock.state = state
        // These have timers of real time.
        await host.blobKeeper.collect()
      }
      const moved = benchOf(database).clock
      return { now: moved.now(), isFrozen: moved.state.frozen !== null }
    },
  }
}

/** The name of the login provider for tests. */
const IDP_NAME = 'test'

async function addressOf(host: OpenDatabase): Promise<string> {
  const address = await host.address()
  if (address !== null) return address
  throw new SatchelError(
    'NO_PUBLIC_ADDRESS',
    'The login provider for tests needs a server on a loopback address',
  )
}

/** Everything of a database that `reset` keeps. */
async function keptOf({ database }: OpenDatabase): Promise<string> {
  const kept = await database.read((tx) => [
    tx.tables.list(),
    tx.clients.list(),
    tx.keys.list(),
    tx.origins.list(),
    tx.settings.list(),
    tx.providers.list(),
  ])
  return JSON.stringify(kept)
}

async function findPage(database: OpenDatabase['database'], page: string): Promise<URL> {
  const listed = await database.read((tx: ReadTx) => listOrigins(tx))
  return requireRedirect(page, { listed, isDevelopment: true })
}
