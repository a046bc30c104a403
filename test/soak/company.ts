import { randomBytes } from 'node:crypto'
import { createHistory, type History, type State } from '../lab/history'
import type { Random } from '../lab/random'
import type { LocalOperation } from '../sync/model/device'
import { type Colleague, hire } from './colleague'
import type { Office } from './office'

const PEOPLE = 30
const TEAM = 5
/** How many objects each device, and each person by REST, has at most. */
const OBJECTS = 20
const PHOTOS = 5
/** The longest text and the largest photo, bytes. */
const TEXT = 1_500
const PHOTO = 40_000
/** How many objects the daily import has. */
const FEED = 200
const PROJECT_DAYS = 3
const ADMINISTRATOR = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

/** The work of a small company on its database. */
export interface Work {
  readonly history: History
  /** The acknowledged sums of the counters, by key. */
  readonly counters: ReadonlyMap<string, number>
  readonly colleagues: readonly Colleague[]
  /** Does so many random things; one person does them one after the other. */
  perform(acts: number): Promise<void>
  /** Invites one person, logs one in by mail, ends an old project, and imports the feed. */
  performDaily(day: number): Promise<void>
  /** Syncs all devices until they have everything. */
  settle(): Promise<void>
}

/** Makes the people, their teams and their devices. */
export async function foundCompany(office: Office, random: Random): Promise<Work> {
  const { wire, client, smtp } = office
  const colleagues = Array.from({ length: PEOPLE }, (_, number) => hire(office, number))
  const history = createHistory()
  const counters = new Map<string, number>()
  /** The objects that are there, by key, each with one writer. */
  const present = new Set<string>()
  const projects: { readonly realmId: string; readonly owner: Colleague; readonly day: number }[] =
    []
  let version = 0

  /** Writes a version of an object, or removes it. */
  async function note(id: string, state: State, write: () => Promise<unknown>): Promise<void> {
    history.ask(id, state)
    await write()
    history.answer(id, true)
    if (state === null) present.delete(id)
    else present.add(id)
  }

  const text = () => randomBytes(random.between(1, TEXT / 2)).toString('hex')

  async function edit(colleague: Colleague): Promise<void> {
    const device = random.pick([colleague.phone, colleague.laptop])
    const id = `itm-${device.name.replace(' ', '-')}-${random.between(1, OBJECTS)}`
    version += 1
    const n = version
    const way = present.has(id) ? random.pick(['change', 'change', 'replace', 'delete']) : 'replace'
    const place = { realmId: random.pick([teamOf(colleague), colleague.id]), owner: colleague.id }
    const operation: LocalOperation =
      way === 'delete'
        ? { table: 'items', type: 'delete', keys: [id] }
        : way === 'change'
          ? { table: 'items', type: 'update', keys: [id], changeSpecs: [{ n, title: text() }] }
          : {
              table: 'items',
              type: 'upsert',
              keys: [id],
              values: [{ id, ...place, n, title: text() }],
            }
    await note(id, way === 'delete' ? null : n, () => colleague.write(device, [operation]))
  }

  async function count(colleague: Colleague): Promise<void> {
    const device = random.pick([colleague.phone, colleague.laptop])
    const id = counterOf(colleague)
    const changeSpecs = [{ n: { '@@propmod': { add: 1 } } }]
    await colleague.write(device, [{ table: 'counts', type: 'update', keys: [id], changeSpecs }])
    counters.set(id, (counters.get(id) ?? 0) + 1)
  }

  async function post(colleague: Colleague): Promise<void> {
    const id = `itm-rest-${colleague.number}-${random.between(1, OBJECTS)}`
    const token = await colleague.token()
    version += 1
    const object = { id, realmId: teamOf(colleague), n: version, title: text() }
    await note(id, object.n, () => wire.read('POST', '/my/items', token, object))
  }

  async function remove(colleague: Colleague): Promise<void> {
    const id = `itm-rest-${colleague.number}-${random.between(1, OBJECTS)}`
    if (!present.has(id)) return await post(colleague)
    const token = await colleague.token()
    await note(id, null, async () => {
      const { status } = await wire.send('DELETE', `/my/items/${id}`, { token })
      if (status >= 300 && status !== 404) throw new Error(`DELETE ${id}: ${status}`)
    })
  }

  async function photograph(colleague: Colleague): Promise<void> {
    const id = `itm-photo-${colleague.number}-${random.between(1, PHOTOS)}`
    const token = await colleague.token()
    const body = new Uint8Array(randomBytes(random.between(5_000, PHOTO)))
    const name = randomBytes(12).toString('hex')
    const type = 'image/png'
    const { status, text } = await wire.send('PUT', `/blob/${name}`, { token, type, body })
    if (status !== 200) throw new Error(`PUT /blob: ${status} ${text}`)
    const { ref } = JSON.parse(text) as { ref: string }
    version += 1
    const photo = { _bt: 'Blob', ref, size: body.length, ct: type }
    const object = { id, realmId: teamOf(colleague), n: version, photo, _hasBlobRefs: 1 }
    await note(id, object.n, () => wire.read('POST', '/my/items', token, object))
    const shown = await wire.send('GET', `/blob/${ref}`, { token })
    if (shown.status !== 200) throw new Error(`GET /blob: ${shown.status}`)
  }

  async function look(colleague: Colleague): Promise<void> {
    const token = await colleague.token()
    const query = random.pick(['?$limit=50', `/itm-rest-${colleague.number}-1`, '?n=1'])
    const { status } = await wire.send('GET', `/my/items${query}`, { token })
    if (status !== 200 && status !== 404) throw new Error(`GET /my/items: ${status}`)
  }

  /** A request of a program with a mistake. */
  async function err(colleague: Colleague): Promise<void> {
    const token = await colleague.token()
    const type = 'application/json'
    const { status } = await wire.send('POST', '/my/items', { token, type, body: '{"id":1}' })
    if (status !== 422) throw new Error(`A wrong request was answered ${status}`)
  }

  const listen = (colleague: Colleague) => colleague.refresh(colleague.phone)
  const acts = [
    edit,
    edit,
    edit,
    edit,
    count,
    post,
    post,
    remove,
    photograph,
    look,
    look,
    look,
    listen,
    err,
  ]

  /** A project is a realm of two: one invites by mail, the other accepts by the link in it. */
  async function invite(day: number): Promise<void> {
    const [owner, guest] = [colleagues[day % PEOPLE]!, colleagues[(day + TEAM) % PEOPLE]!]
    const realmId = `rlm-project-${day}`
    const member = { id: `mmb-project-${day}`, realmId, email: guest.id, invite: true }
    const values = [{ ...member, permissions: { manage: '*' } }]
    await owner.write(owner.phone, [
      {
        table: 'realms',
        type: 'insert',
        keys: [realmId],
        values: [{ realmId, owner: owner.id, name: 'Project' }],
      },
      { table: 'members', type: 'insert', keys: [member.id], values },
    ])
    const mail = await smtp.next()
    const link = /\/invitation\?\S+/.exec(mail.text)?.[0] ?? ''
    const { status } = await wire.send('POST', link, {
      type: 'application/x-www-form-urlencoded',
      body: 'answer=accept',
    })
    if (status !== 303) throw new Error(`The invitation was answered ${status}`)
    projects.push({ realmId, owner, day })
    version += 1
    const id = `itm-project-${day}`
    const item = { id, realmId, owner: guest.id, n: version }
    await guest.refresh(guest.laptop)
    await note(id, item.n, () =>
      guest.write(guest.laptop, [{ table: 'items', type: 'insert', keys: [id], values: [item] }]),
    )
  }

  async function endProjects(today: number): Promise<void> {
    for (const { realmId, owner, day } of projects.splice(0)) {
      if (today - day < PROJECT_DAYS) {
        projects.push({ realmId, owner, day })
        continue
      }
      await note(`itm-project-${day}`, null, () =>
        owner.write(owner.phone, [{ table: 'realms', type: 'delete', keys: [realmId] }]),
      )
    }
  }

  async function logIn(day: number): Promise<void> {
    const email = colleagues[day % PEOPLE]!.id
    const asked = { grant_type: 'otp', email, scopes: ['ACCESS_DB'] }
    const { otp_id } = await wire.read<{ otp_id: string }>('POST', '/token', undefined, asked)
    const mail = await smtp.next()
    const otp = /^ {4}(\S+)$/m.exec(mail.text)?.[1] ?? ''
    const { accessToken } = await wire.read<{ accessToken: string }>('POST', '/token', undefined, {
      ...asked,
      otp_id,
      otp,
    })
    await wire.read('GET', '/my/items?$limit=1', accessToken)
  }

  async function importFeed(): Promise<void> {
    const items: Record<string, object> = {}
    for (let at = 0; at < FEED; at += 1) {
      version += 1
      const id = `itm-feed-${at}`
      history.ask(id, version)
      items[id] = { n: version, title: text().slice(0, 100) }
    }
    await office.run(['import', '-'], JSON.stringify({ data: { 'rlm-public': { items } } }))
    for (const id of Object.keys(items)) history.answer(id, true)
  }

  await founded()
  return {
    history,
    counters,
    colleagues,
    async perform(count) {
      for (let at = 0; at < count; at += 1) {
        const colleague = random.pick(colleagues)
        const act = random.pick(acts)
        colleague.busy = colleague.busy.then(() => act(colleague))
      }
      await Promise.all(colleagues.map(({ busy }) => busy))
    },
    async performDaily(day) {
      await invite(day)
      await endProjects(day)
      await logIn(day)
      await importFeed()
    },
    async settle() {
      for (const colleague of colleagues) {
        await colleague.refresh(colleague.phone)
        await colleague.refresh(colleague.laptop)
      }
    },
  }

  /** An administrator makes a realm for each team; everybody is in one. */
  async function founded(): Promise<void> {
    const { accessToken: token } = await wire.read<{ accessToken: string }>(
      'POST',
      '/token',
      undefined,
      {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
        scopes: ADMINISTRATOR,
      },
    )
    for (let team = 0; team < PEOPLE / TEAM; team += 1) {
      const realmId = `rlm-team-${team}`
      await wire.read('POST', '/all/realms', token, { realmId, name: `Team ${team}` })
      const count = { id: `cnt-team-${team}`, realmId, n: 0 }
      await wire.read('POST', '/all/counts', token, count)
    }
    for (const colleague of colleagues) {
      const { id, number } = colleague
      await colleague.token()
      const member = { id: `mmb-team-${number}`, realmId: teamOf(colleague), userId: id, email: id }
      await wire.read('POST', '/all/members', token, { ...member, permissions: { manage: '*' } })
    }
  }
}

function teamOf({ number }: Colleague): string {
  return `rlm-team-${Math.floor(number / TEAM)}`
}

function counterOf({ number }: Colleague): string {
  return `cnt-team-${Math.floor(number / TEAM)}`
}
