import { mkdir, writeFile } from 'node:fs/promises'
import { freePort } from '../../ports'
import type { Bench } from '../bench'
import { download } from '../download'
import { batchTexts, writerRealms } from '../rows'
import { median } from '../statistics'

const PACKAGE = 'pouchdb-server@4.2.0'
const ROWS = 10_000
const WRITES = 20

/**
 * Reports the same of `pouchdb-server`, which is fetched for this and keeps its data in memory: all
 * documents at once, and a write until a listener has it. Without Node.js or the package it says so.
 */
export async function reportPouchdb(bench: Bench): Promise<void> {
  const folder = bench.newPath('pouchdb')
  await mkdir(folder)
  await writeFile(`${folder}/package.json`, '{"private":true}')
  // Its native parts are not needed for data in memory.
  const adding = Bun.spawn([process.execPath, 'add', '--ignore-scripts', PACKAGE], {
    cwd: folder,
    stdout: 'ignore',
    stderr: 'ignore',
    signal: bench.signal,
  })
  if (Bun.which('node') === null || (await adding.exited) !== 0) {
    bench.say(`  ${PACKAGE} is not to be had here`)
    return
  }
  const port = freePort()
  const main = `${folder}/node_modules/pouchdb-server/bin/pouchdb-server`
  const options = ['--in-memory', '--port', String(port), '--no-stdout-logs']
  const server = Bun.spawn(['node', main, ...options], {
    cwd: folder,
    stdout: 'ignore',
    stderr: 'ignore',
    signal: bench.signal,
  })
  try {
    const url = `http://127.0.0.1:${port}`
    await untilReady(url)
    await send('PUT', `${url}/bench`)
    await report(bench, `${url}/bench`)
  } finally {
    server.kill()
    await server.exited
  }
}

async function report(bench: Bench, url: string): Promise<void> {
  for (let batch = 0; batch < ROWS / 1_000; batch += 1) {
    const texts = batchTexts(1_000, writerRealms, String(batch).padStart(12, '0'))
    await send('POST', `${url}/_bulk_docs`, `{"docs":[${texts.map(withId).join(',')}]}`)
  }
  const times: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    times.push((await download(`${url}/_changes?include_docs=true`, undefined)).whole)
  }
  const rate = Math.round((ROWS / median(times)) * 1_000).toLocaleString('en')
  bench.say(`  ${PACKAGE}, in memory: ${ROWS.toLocaleString('en')} documents, ${rate} a second`)
  const delays = await measureSeen(url)
  bench.say(`  ${PACKAGE}, in memory: write until seen ${median(delays).toFixed(1)} ms (p50)`)
}

/** The delays of writes until a listener that asks again and again has them, ms. */
async function measureSeen(url: string): Promise<number[]> {
  const delays: number[] = []
  for (let write = 0; write < WRITES; write += 1) {
    const since = await sequenceOf(`${url}/_changes?limit=0&descending=true`)
    const heard = sequenceOf(`${url}/_changes?feed=longpoll&include_docs=true&since=${since}`)
    await Bun.sleep(50)
    const begin = performance.now()
    await send('PUT', `${url}/seen${write}`, '{"title":"written"}')
    await heard
    delays.push(performance.now() - begin)
  }
  return delays
}

async function sequenceOf(url: string): Promise<string> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`GET ${url}: ${response.status}`)
  return String(((await response.json()) as { readonly last_seq: unknown }).last_seq)
}

function withId(text: string): string {
  return text.replace('{"id":', '{"_id":')
}

async function send(method: string, url: string, body?: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const given = body === undefined ? {} : { body }
  const response = await fetch(url, { method, headers, ...given })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    try {
      return await send('GET', url)
    } catch (error) {
      if (performance.now() > deadline) throw error
      await Bun.sleep(100)
    }
  }
}
