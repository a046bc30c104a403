import process from 'node:process'
import * as fakeIndexedDB from 'fake-indexeddb'
import { descriptionOf, valueOf } from './described'
import type { AddonUser, Command, Told } from './messages'
import { answerSync } from './sync-stand-in'

/**
 * An application with the published add-on and an IndexedDB in memory, told by messages what its user
 * does. In a process of its own, for its clock may be wrong and what it began goes on after a test.
 */
Object.assign(globalThis, fakeIndexedDB)
// Only now: they look for it when they are loaded.
const { default: Dexie } = await import('dexie')
const { default: dexieCloud } = await import('dexie-cloud-addon')

const [databaseUrl = '', clockAhead = '0', ...exchanged] = process.argv.slice(2)
const now = Date.now.bind(Date)
Date.now = () => now() + Number(clockAhead)

const { fetch } = globalThis
globalThis.fetch = Object.assign(
  (url: string | URL | Request, init?: RequestInit) =>
    url === `${databaseUrl}/sync` ? answerSync(databaseUrl, init, exchanged) : fetch(url, init),
  fetch,
)

function open() {
  const db = new Dexie('app', { addons: [dexieCloud] })
  db.version(1).stores({ items: '@id, title' })
  db.cloud.configure({ databaseUrl, disableWebSocket: true, disableEagerSync: true })
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
