import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, satchel, satchelJson, serve } from './setup'

const NAMES = ['main', ...Array.from({ length: 5 }, (_, n) => `shop${n}`)]
const KEYS = ['one', 'two'].map((word) => Buffer.alloc(32, word).toString('base64'))

test('satchel key reseal that is killed again and again is completed by repeating it', async () => {
  using folder = temporaryFolder()
  const under = (key: string) => ({ cwd: folder.path, environment: { SATCHEL_SECRET_KEY: key } })
  const tokens = new Map<string, string>()
  let [from, to] = KEYS as [string, string]
  for (const name of NAMES) await satchelJson(['db', 'create', name, '--data', 'data'], under(from))
  for (const db of NAMES) {
    const command = ['token', '--sub', 'alice@example.com', '--db', db]
    const { accessToken } = await satchelJson<{ accessToken: string }>(command, under(from))
    tokens.set(db, accessToken)
  }
  for (const delay of [60, 80, 100, 130]) {
    const environment = { SATCHEL_SECRET_KEY: from, SATCHEL_NEW_SECRET_KEY: to }
    const command = ['key', 'reseal', '--data', 'data']
    const env = { ...environment, XDG_RUNTIME_DIR: '/dev/null' }
    const killed = Bun.spawn([EXECUTABLE, ...command], { cwd: folder.path, env, stdout: 'ignore' })
    await Bun.sleep(delay)
    killed.kill('SIGKILL')
    await killed.exited
    const { exitCode, stderr } = await satchel(command, { cwd: folder.path, environment })
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    ;[from, to] = [to, from]
  }
  await using server = await serve(under(from))
  for (const [db, token] of tokens) {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${server.ready.url}/${db}/token/validate`, { headers })
    expect([db, status]).toEqual([db, 200])
  }
})
