import { expect, test } from 'bun:test'
import { satchel } from '../binary/setup'
import { type Caller, callerOf } from '../http/setup'
import { until } from '../timing'
import { type Executable, setupExecutable } from './setup'

/**
 * Promise 15: a deleted or blocked user, or client, loses REST within a second, whichever way it was
 * decided and however busy the server is with their requests (ASVS 7.4.2).
 */

const ALICE = 'alice@example.com'

/** Every kind of route that looks at a token. */
const ROUTES: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', '/my/plain'],
  ['GET', '/my/plain/a'],
  ['GET', '/plain'],
  ['GET', '/public/plain'],
  ['POST', '/my/plain', { id: 'later' }],
  ['PUT', '/my/plain/later', {}],
  ['DELETE', '/my/plain/a'],
  ['PUT', '/blob/later', 'x'],
  ['GET', '/blob/1:none'],
  ['GET', `/users/${ALICE}`],
  ['GET', '/token/validate'],
]

/** Sends requests side by side until told to stop, like a device that cannot be reached. */
function keepAsking(caller: Caller, path: string, lanes = 8) {
  const before: number[] = []
  const after: number[] = []
  let hasLost = false
  let isOver = false
  const running = Array.from({ length: lanes }, async () => {
    while (!isOver) {
      const seen = hasLost ? after : before
      seen.push((await caller.get(path)).status)
    }
  })
  return {
    /** Statuses of the requests that were sent before the loss was told, and after it. */
    before,
    after,
    lose: () => {
      hasLost = true
    },
    async [Symbol.asyncDispose]() {
      isOver = true
      await Promise.all(running)
    },
  }
}

interface Loss {
  /** The action that ends it. Resolves when its caller has the answer. */
  readonly decide: (world: World) => Promise<unknown>
  readonly status: number
  readonly code: string
}

interface World {
  readonly executable: Executable
  /** With a token that the client `clientId` asked for. */
  readonly alice: Caller
  readonly clientId: string
  readonly root: Caller
}

async function createWorld(executable: Executable): Promise<World> {
  const { clientId, clientSecret } = await executable.commands.run('client.create', {
    database: 'main',
    scopes: ['ACCESS_DB', 'IMPERSONATE'],
  })
  const { body } = await executable.anyone.post('/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes: ['ACCESS_DB'],
    claims: { sub: ALICE },
  })
  const alice = callerOf(executable.main, (body as { accessToken: string }).accessToken)
  return { executable, alice, clientId, root: await executable.root() }
}

const GONE = { status: 401, code: 'INVALID_TOKEN' }
const BLOCKED = { status: 403, code: 'USER_DEACTIVATED' }

/** With the command line, which is a process of its own. */
async function command(executable: Executable, ...args: readonly string[]): Promise<void> {
  const data = ['--data', executable.folder]
  const { exitCode, stderr } = await satchel([...args, ...data], { cwd: executable.folder })
  expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' })
}

const LOSSES: Readonly<Record<string, Loss>> = {
  'a user is deleted over REST': {
    decide: ({ root }) => root.remove(`/users/${ALICE}`),
    ...GONE,
  },
  'a user is deactivated over REST': {
    decide: ({ root }) => root.post('/users', [{ userId: ALICE, deactivated: true }]),
    ...BLOCKED,
  },
  'a user deletes themselves': {
    decide: async ({ executable }) => (await executable.as(ALICE)).remove(`/users/${ALICE}`),
    ...GONE,
  },
  'a user is deleted with the command': {
    decide: ({ executable }) => command(executable, 'user', 'delete', ALICE, '--yes'),
    ...GONE,
  },
  'a user is deactivated with the command': {
    decide: ({ executable }) => command(executable, 'user', 'deactivate', ALICE),
    ...BLOCKED,
  },
  'the client is revoked with the command': {
    decide: ({ executable, clientId }) => command(executable, 'client', 'revoke', clientId),
    ...GONE,
  },
}

test.each(Object.entries(LOSSES))('promise 15: %s', async (_name, { decide, status, code }) => {
  await using executable = await setupExecutable()
  const world = await createWorld(executable)
  const { alice } = world
  await alice.post('/my/plain', { id: 'a' })
  await using device = keepAsking(alice, '/my/plain')
  await until(() => device.before.filter((seen) => seen === 200).length > 10)
  await decide(world)
  device.lose()
  await until(() => device.after.length > 100)
  // Not within a second: at once.
  expect([...new Set(device.after)]).toEqual([status])
  for (const [method, path, body] of ROUTES) {
    const answer = await alice.send(method, path, body === undefined ? {} : { body })
    expect({ method, path, status: answer.status }).toEqual({ method, path, status })
    const told = answer.body as { readonly code?: string; readonly valid?: boolean }
    if (told.valid === undefined) expect(told.code).toBe(code)
  }
})
