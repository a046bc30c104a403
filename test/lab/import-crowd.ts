import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { batchTexts } from '../bench/rows'
import { peakMegabytes, residentMegabytes, resetPeak } from '../bench/server-process'
import { percentile } from '../bench/statistics'
import { type Executable, setupExecutable } from '../promises/setup'
import { PLAIN_IMPORT, temporaryFolder } from '../setup'
import type { Finding } from './experiment'
import type { Report } from './followers'

const SOCKETS = 1_000
/** MB, and ms. */
const MOST_GROWTH = 128
const MOST_READ = 300
/** The pause between two reads, ms. */
const READ_EVERY = 20
/** How long the clients are watched after the import, ms: they would pull for an hour. */
const AFTERWARDS = 20_000
const USER = 'alice@example.com'
const BATCH = 1_000

/**
 * An import of `rounds` thousand rows with 1,000 sockets open, whose clients all have to pull what it
 * brings (live sync §4): the memory of the server, and how long others read meanwhile.
 */
export async function importBesideCrowd(rounds: number): Promise<Finding> {
  await using scene = await setupScene(rounds)
  const { executable, file } = scene
  const { pid } = executable.served
  await using followers = await startFollowers(executable)
  const before = await residentMegabytes(pid)
  await resetPeak(pid)
  const begun = performance.now()
  let ended = 0
  const importing = executable.commands
    .run('import', PLAIN_IMPORT, { upload: Bun.file(file).stream() })
    .finally(() => {
      ended = performance.now()
    })
  const alice = await executable.as(USER)
  const times: number[] = []
  while (ended === 0 || performance.now() - ended < AFTERWARDS) {
    const asked = performance.now()
    const { status } = await alice.get('/my/plain/probe')
    times.push(performance.now() - asked)
    if (status !== 200) throw new Error(`A read was answered ${status}`)
    await Bun.sleep(READ_EVERY)
  }
  await importing
  const growth = Math.round((await peakMegabytes(pid)) - before)
  const slowest = Math.round(percentile(times, 0.99))
  const { told, messages, pulls, megabytes, problems } = followers.report()
  const seconds = ((ended - begun) / 1000).toFixed(0)
  return {
    facts: `import ${seconds} s; RSS +${growth} MB; ${times.length} reads, p99 ${slowest} ms; ${messages} messages, ${told} told to pull, ${pulls} pulls of ${megabytes} MB`,
    problems: [
      ...(growth > MOST_GROWTH ? [`memory grew by ${growth} MB`] : []),
      ...(slowest > MOST_READ ? [`reads took ${slowest} ms (p99)`] : []),
      ...(told + messages === 0 ? ['no client heard of the import'] : []),
      ...problems,
    ],
  }
}

/** A server with an object to read, and the file. */
async function setupScene(rounds: number) {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder()).path
  const executable = undo.use(await setupExecutable())
  const alice = await executable.as(USER)
  await alice.post('/my/plain', { id: 'probe' })
  const file = join(folder, 'import.ndjson')
  const stream = createWriteStream(file)
  for (let batch = 0; batch < rounds; batch += 1) {
    const texts = batchTexts(BATCH, [USER], String(batch).padStart(12, '0'))
    const lines = texts.map((text) => {
      const { id } = JSON.parse(text) as { readonly id: string }
      return `{"realm":"${USER}","table":"items","id":"${id}","data":${text}}\n`
    })
    if (!stream.write(lines.join(''))) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'finish')
  const parts = undo.move()
  return { executable, file, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function startFollowers(executable: Executable) {
  const token = await executable.token({ sub: USER })
  const follow = { url: executable.main, token, userId: USER, sockets: SOCKETS }
  const connected = Promise.withResolvers<void>()
  let last: Report = { told: 0, messages: 0, pulls: 0, megabytes: 0, problems: [] }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'followers.ts')], {
    env: { ...process.env, FOLLOW: JSON.stringify(follow) },
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    ipc(report: Report) {
      last = report
      connected.resolve()
    },
  })
  void child.exited.then(() => connected.reject(new Error('the clients ended')))
  await connected.promise
  return {
    report: () => last,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
