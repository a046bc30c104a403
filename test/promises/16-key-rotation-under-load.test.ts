import { expect, test } from 'bun:test'
import { ALICE, callerOf } from '../http/setup'
import { setupExecutable } from './setup'

/**
 * Promise 16: keys are rotated under 1,000 requests a second: not one request fails, and old tokens
 * are valid until they expire. `test/auth` shows the same with the clock of a test.
 */

const WORKERS = 24
const SECONDS = 3
const PER_SECOND = 1_000

test('promise 16: rotating keys under load fails no request', async () => {
  await using executable = await setupExecutable()
  const { commands, main } = executable
  const first = await executable.as(ALICE)
  await first.post('/my/plain', { id: 'a' })
  const short = await commands.run('token.issue', {
    database: 'main',
    subject: ALICE,
    scopes: ['ACCESS_DB'],
    expiresIn: SECONDS + 3,
  })

  const failures: string[] = []
  const kids = new Set<string>()
  let served = 0
  let isOver = false
  const begun = performance.now()

  async function work(): Promise<void> {
    let caller = first
    for (let round = 1; !isOver; round += 1) {
      // As many as there should be by now, and no more.
      if (served > ((performance.now() - begun) / 1000) * PER_SECOND * 1.5) await Bun.sleep(1)
      if (round % 50 === 0) caller = await executable.as(ALICE)
      const [header = ''] = caller.token?.split('.') ?? []
      kids.add(header)
      const answer = await caller.get('/my/plain/a')
      if (answer.status !== 200) failures.push(`${answer.status} ${answer.text}`)
      served += 1
    }
  }

  async function rotate(): Promise<number> {
    let rotations = 0
    while (performance.now() - begun < SECONDS * 1000) {
      await commands.run('key.rotate', { database: 'main' })
      rotations += 1
      await Bun.sleep(150)
    }
    isOver = true
    return rotations
  }

  const [rotations] = await Promise.all([rotate(), ...Array.from({ length: WORKERS }, work)])
  expect(failures).toEqual([])
  expect(rotations).toBeGreaterThan(8)
  expect(kids.size).toBeGreaterThan(8)
  expect(served).toBeGreaterThanOrEqual(PER_SECOND * SECONDS)
  // Through every rotation the first token stayed what it was; a short one ended when it said.
  expect((await first.get('/my/plain/a')).status).toBe(200)
  const passing = callerOf(main, short.accessToken)
  expect((await passing.get('/my/plain/a')).status).toBe(200)
  await Bun.sleep(Math.max(0, short.accessTokenExpiration - Date.now()) + 50)
  expect((await passing.get('/my/plain/a')).status).toBe(401)
}, 30_000)
