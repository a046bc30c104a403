import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { callMain } from './api'
import { serve } from './setup'

const MIB = 1024 * 1024

test('the executable has its checkpoint worker, which copies the log while it serves', async () => {
  using folder = temporaryFolder()
  await using server = await serve({ cwd: folder.path })
  const { clientId: client_id, clientSecret: client_secret } = server.ready.client ?? {}
  const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
  const { accessToken } = await callMain(server.ready).post<{ accessToken: string }>('/token', {
    grant_type: 'client_credentials',
    client_id,
    client_secret,
    scopes,
  })
  const caller = callMain(server.ready, accessToken)
  const file = join(folder.path, 'data', 'databases', 'main', 'database.sqlite')
  for (let round = 0; round < 12; round += 1) await caller.post('/all/roles', roles(round))
  // The writer itself would do it at 32 MiB only.
  expect(statSync(`${file}-wal`).size).toBeLessThan(32 * MIB)
  await until(() => statSync(file).size >= 4 * MIB)
})

/** A thousand rows, 1.3 MiB. */
function roles(round: number) {
  const text = 'x'.repeat(1_200)
  return Array.from({ length: 1_000 }, (_, n) => {
    return { realmId: 'rlm-public', name: `${round} ${n}`, text }
  })
}
