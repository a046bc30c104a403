import { expect, test } from 'bun:test'
import { failCalls } from '../lab/failing-calls'
import { canLoadLayer } from '../lab/layer'

/**
 * Promise 5: whichever system call fails, the state is the old or the new one. The lab fails each of a
 * session (`bun run lab`); this fails eight of them.
 */
test.skipIf(!canLoadLayer())(
  'promise 5: when a system call fails, the state is the old or the new one (needs gcc)',
  async () => {
    const { calls, refused, problems } = await failCalls(8)
    expect(problems).toEqual([])
    // Or the layer fails nothing.
    expect(calls).toBeGreaterThan(50)
    expect(refused).toBeGreaterThan(0)
  },
  60_000,
)
