import { Snippet } from '../parts/snippet'
import { Icon } from '../parts/icon'
import { urlOf } from '../shell/databases'
import { database } from '../shell/route'

/** The page before the first change: how an application is connected. */
export function Connect() {
  const name = database.value
  const url = urlOf(name)
  return (
    <div class="connect">
      <span class="empty-sign">
        <Icon name="live" />
      </span>
      <h2>Nothing was written since this page was opened</h2>
      <p class="soft">
        Each change appears here the moment it is stored: its author, the devices that heard of it
        and how fast, and the reason when a write is rejected. Connect an application:
      </p>
      <Snippet label="Install" text="npm install dexie dexie-cloud-addon" />
      <Snippet label="Connect" text={connecting(name, url)} />
      <Snippet label="Or write one object from a terminal" text={writing(name, url)} />
      <p class="soft small">
        A page on another origin than this machine needs <code>satchel origin add</code>. More is in{' '}
        <a href="docs/sync" target="_blank" rel="noopener">
          Applications that sync
        </a>{' '}
        and{' '}
        <a href="docs/rest" target="_blank" rel="noopener">
          Tables and objects over REST
        </a>
        .
      </p>
    </div>
  )
}

function connecting(name: string, url: string): string {
  return `import Dexie from 'dexie'
import dexieCloud from 'dexie-cloud-addon'

const db = new Dexie(${JSON.stringify(name)}, { addons: [dexieCloud] })
db.version(1).stores({ todoItems: '@id, title' })
db.cloud.configure({ databaseUrl: ${JSON.stringify(url)}, requireAuth: true })

await db.todoItems.add({ title: 'Milk' })`
}

function writing(name: string, url: string): string {
  return `TOKEN=$(satchel token --db ${name} --sub alice@example.com)
curl ${url}/my/todoItems -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' -d '{"title": "Milk"}'`
}
