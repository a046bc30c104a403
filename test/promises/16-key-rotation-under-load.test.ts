import { expect, test } from 'bun:test'
import { ALICE, callerOf } from '../http/setup'
import { until } from '../timing'
import { setupExecutable } from './setup'

/**
 * Promise 16: keys are rotated under load: not one request fails, and old tokens are valid until
 * they expire. `test/auth` shows the same with the clock of a test.
 */

const WORKERS = 24
const ROTATIONS = 10
const REQUESTS_EACH = 300

test('promise 16: rotating keys under load fails no request', async () => {
  await using executable = await setupExecutable()
  const { commands, main } = executable
  const first = await executable.as(ALICE)
  await first.post('/my/plain', { id: 'a' })
  const short = await commands.run('token.issue', {
    database: 'main',
    subject: ALICE,
    scopes: ['ACCESS_DB'],
    expiresIn: 5,
  })

  const failures: string[] = []
  const kids = new Set<string>()
  let served = 0
  let isOver = false

  async function work(): Promise<void> {
    let caller = first
    for (let round = 1; !isOver; round += 1) {
      if (round % 10 === 0) caller = await executable.as(ALICE)
      const [header = ''] = caller.token?.split('.') ?? []
      kids.add(header)
      const answer = await caller.get('/my/plain/a')
      if (answer.status !== 200) failures.push(`${answer.status} ${answer.text}`)
      served += 1
    }
  }

  const passing = callerOf(main, short.accessToken)

  async function rotate(): Promise<void> {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      await commands.run('key.rotate', { database: 'main' })
      await until(() => served >= rotation * REQUESTS_EACH)
      const { status } = await passing.get('/my/plain/a')
      if (Date.now() < short.accessTokenExpiration) expect(status).toBe(200)
    }
    isOver = true
  }

  await Promise.all([rotate(), ...Array.from({ length: WORKERS }, work)])
  expect(failures).toEqual([])
  expect(kids.size).toBeGreaterThan(8)
  // Through every rotation the first token stayed what it was; a short one ended when it said.
  expect((await first.get('/my/plain/a')).status).toBe(200)
  await Bun.sleep(Math.max(0, short.accessTokenExpiration - Date.now()) + 50)
  expect((await passing.get('/my/plain/a')).status).toBe(401)
})
