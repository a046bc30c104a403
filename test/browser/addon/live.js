import { Dexie } from 'dexie'
import { dexieCloud } from 'dexie-cloud-addon'

/** A todo application with the published add-on, which tests use through its database. */
const { databaseUrl = '' } = document.documentElement.dataset
const db = new Dexie('live', { addons: [dexieCloud] })
db.version(1).stores({
  todoLists: '@id',
  todoItems: '@id, title, [todoListId+realmId]',
  settings: 'id',
})
const tryUseServiceWorker = location.search === '?worker'
if (tryUseServiceWorker) await navigator.serviceWorker.register('/worker.js', { type: 'module' })
const unsyncedProperties = { todoItems: ['scroll'] }
db.cloud.configure({ databaseUrl, unsyncedProperties, tryUseServiceWorker })
Object.assign(globalThis, { db, Dexie, invites: [] })
db.cloud.invites.subscribe((invites) => Object.assign(globalThis, { invites }))
await db.open()
document.body.dataset['open'] = ''
