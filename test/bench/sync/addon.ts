import { writeFile } from 'node:fs/promises'
import { type Application, openApplication } from '../../conformance/addon/setup'
import type { Bench } from '../bench'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure } from '../result'
import { runCommand } from '../satchel'
import { median } from '../statistics'

const USER = 'alice@demo.local'
const WRITES = 12
/** After ten messages in ten seconds the add-on waits a second for each (protocol.md Appendix C.21). */
const PAUSE = 1_500

/** From a write on one device until another one has it, both with the published add-on. */
export async function measureAddon(bench: Bench): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  const file = bench.newPath('demo.json')
  await writeFile(file, JSON.stringify({ demoUsers: { [USER]: {} } }))
  const executable = bench.options.satchel
  await runCommand({ executable, signal: bench.signal }, ['import', file, '--data', satchel.data])
  await using phone = await openDevice(satchel.url)
  await using laptop = await openDevice(satchel.url)
  const values: number[] = []
  for (let write = 0; write < WRITES; write += 1) {
    await Bun.sleep(PAUSE)
    const id = `itm${write}`
    const seen = laptop.run(waitFor, id)
    const begun = await phone.run(async (db, key) => {
      const now = performance.timeOrigin + performance.now()
      await db.table('items').add({ id: key, title: 'written' })
      return now
    }, id)
    values.push((await seen) - begun)
  }
  const title = 'Write until seen by another device, both with the add-on'
  return { title, bar: atMost(50, 30, 'ms'), values, value: median(values) }
}

async function openDevice(databaseUrl: string): Promise<Application> {
  const device = await openApplication(databaseUrl, {
    isEager: true,
    cloud: { disableWebSocket: false },
  })
  await device.begin({ do: 'login', hints: { email: USER } }).end()
  await device.run(async (db) => {
    while (db.cloud.webSocketStatus.value !== 'connected') await Bun.sleep(10)
  })
  return device
}

/** Runs in the application: the time at which it has an object. */
async function waitFor(db: Parameters<Parameters<Application['run']>[0]>[0], id: string) {
  const { liveQuery } = db.constructor as unknown as {
    readonly liveQuery: (query: () => Promise<unknown>) => {
      subscribe(heard: (row: unknown) => void): { unsubscribe(): void }
    }
  }
  return await new Promise<number>((resolve) => {
    const subscription = liveQuery(() => db.table('items').get(id)).subscribe((row) => {
      if (row === undefined) return
      resolve(performance.timeOrigin + performance.now())
      setTimeout(() => subscription.unsubscribe(), 0)
    })
  })
}
