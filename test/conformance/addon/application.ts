import process from 'node:process'
import * as fakeIndexedDB from 'fake-indexeddb'
import { descriptionOf, valueOf } from './described'
import type { AddonUser, Command, Device, Options, Told } from './messages'

/**
 * An application with the published add-on and an IndexedDB in memory, told by messages what its user
 * does. In a process of its own, for its clock may be wrong and what it began goes on after a test.
 */
Object.assign(globalThis, fakeIndexedDB)
// Only now: they look for it when they are loaded.
const { default: Dexie } = await import('dexie')
const { default: dexieCloud } = await import('dexie-cloud-addon')

const options = JSON.parse(process.argv[2] ?? '{}') as Options & { readonly databaseUrl: string }
const { databaseUrl, clockAhead = 0, isEager = false } = options
// Loaded where it is used: it changes what the add-on sends.
const text = options.hasText === true ? await import('y-dexie') : undefined
const yDexie = text?.default
const now = Date.now.bind(Date)
const device: Device = {
  clockAhead,
  around: (send) => send(),
  syncs: [],
  dexieCloud,
  openText: (doc) => text?.DexieYProvider.load(doc as never),
}
Date.now = () => now() + device.clockAhead

// The add-on repeats a failed sync after 20 seconds and more: a test does not wait that long.
const { fetch, setTimeout } = globalThis
globalThis.setTimeout = Object.assign(
  (work: () => void, delay = 0, ...given: unknown[]) =>
    setTimeout(work, delay < 5_000 ? delay : delay / 40, ...given),
  setTimeout,
)
globalThis.fetch = Object.assign(
  (url: string | URL | Request, init?: RequestInit) =>
    url === `${databaseUrl}/sync` ? device.around(() => sync(url, init)) : fetch(url, init),
  fetch,
)

async function sync(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const answer = await response.clone().text()
  const { status, headers } = response
  const limits = Object.fromEntries([...headers].filter(([name]) => name.startsWith('ratelimit-')))
  device.syncs.push({ request: await textOf(init?.body), answer, status, limits })
  return response
}

function textOf(body: RequestInit['body']): Promise<string> {
  return new Response(body ?? null).text()
}

let { stores = { items: '@id, title' } } = options

function open() {
  const db = new Dexie('app', {
    addons: yDexie === undefined ? [dexieCloud] : [yDexie, dexieCloud],
  })
  db.version(1).stores(stores)
  db.cloud.configure({
    databaseUrl,
    disableWebSocket: true,
    disableEagerSync: !isEager,
    ...options.cloud,
  })
  db.cloud.userInteraction.subscribe((dialog) => {
    if (dialog === undefined) return
    const { type, alerts, fields } = dialog
    tell({ about: 'dialog', type, fields: Object.keys(fields), alerts })
  })
  return db
}

let db = open()
await db.open()

/** The actions of the user; each is answered when it is done. */
async function perform(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'login':
      return await db.cloud.login(command.hints)
    case 'submit':
      return db.cloud.userInteraction.value?.onSubmit({ ...command.fields })
    case 'restart':
      db.close()
      stores = command.stores ?? stores
      db = open()
      return void (await db.open())
    case 'put':
      return void (await db.table('items').put(valueOf(command.value)))
    case 'sync':
      return await db.cloud.sync()
    case 'read':
      return descriptionOf(await db.table('items').get(command.id))
    case 'user':
      return describeUser()
    case 'run': {
      // oxlint-disable-next-line typescript/no-implied-eval -- the code is that of a test
      const work = new Function('Dexie', `return (${command.code})`)(Dexie) as (
        ...all: unknown[]
      ) => Promise<unknown>
      return await work(db, command.given, device)
    }
  }
}

function describeUser(): AddonUser {
  const user = db.cloud.currentUser.value
  return {
    userId: user.userId,
    email: user.email,
    isLoggedIn: user.isLoggedIn,
    license: user.license,
    accessToken: user.accessToken,
    expires: user.accessTokenExpiration?.getTime(),
    refreshToken: user.refreshToken,
    isKeyExtractable: user.nonExportablePrivateKey?.extractable,
  }
}

function tell(message: Told): void {
  process.send?.(message)
}

process.on('message', (message: { readonly id: number; readonly command: Command }) => {
  const { id, command } = message
  perform(command).then(
    (result) => tell({ about: 'done', id, result }),
    (error: unknown) => tell({ about: 'failed', id, reason: String(error) }),
  )
})
tell({ about: 'ready' })
