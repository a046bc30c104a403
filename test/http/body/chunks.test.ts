import { describe, expect, test } from 'bun:test'
import { withTimeout } from '../../../src/http/body/chunks'
import { codeOf } from '../../auth/setup'

/** Texts, and pauses between them in ms. */
function pace(...steps: readonly (number | string)[]) {
  let isCancelled = false
  let sent = 0
  async function* chunks(): AsyncGenerator<Uint8Array, undefined> {
    for (const step of steps) {
      if (typeof step === 'number') await Bun.sleep(step)
      else {
        sent += 1
        yield Buffer.from(step)
      }
    }
    return undefined
  }
  const iterator = chunks()
  return {
    read: async () => (await iterator.next()).value,
    cancel: () => {
      isCancelled = true
    },
    get isCancelled() {
      return isCancelled
    },
    get sent() {
      return sent
    },
  }
}

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString()
}

describe('a slow sender', () => {
  const timeout = { silence: 400, rate: 100 }

  test('is waited for as long as something comes', async () => {
    // So much, and so often, that a busy machine may pause meanwhile.
    const parts = Array.from({ length: 12 }, () => [250, 'x'.repeat(2_000)]).flat()
    const patient = { silence: 2_000, rate: 100 }
    expect(await read(withTimeout(pace(...parts), patient))).toBe('x'.repeat(24_000))
  })

  test('is given up when nothing comes', async () => {
    const sender = pace('abc', 1_000, 'def')
    expect(await codeOf(() => read(withTimeout(sender, timeout)))).toBe('TOO_SLOW')
    expect(sender.sent).toBe(1)
  })

  test('is given up when too little comes on average, though something always does', async () => {
    const drip = Array.from({ length: 100 }, () => [20, 'x']).flat()
    const sender = pace(...drip)
    expect(await codeOf(() => read(withTimeout(sender, timeout)))).toBe('TOO_SLOW')
    expect(sender.sent).toBeWithin(1, 100)
  })

  test('is not charged for time in which no chunk is read', async () => {
    const received: string[] = []
    for await (const chunk of withTimeout(pace('a', 'b', 'c'), timeout)) {
      received.push(String(chunk))
      await Bun.sleep(500)
    }
    expect(received).toEqual(['a', 'b', 'c'])
  })

  test('is released when its reader stops, and when it is aborted', async () => {
    const left = pace('a', 'b', 'c')
    for await (const chunk of withTimeout(left, timeout)) {
      if (chunk.length > 0) break
    }
    expect(left.isCancelled).toBe(true)
    const given = pace('a', 1_000)
    expect(await codeOf(() => read(withTimeout(given, timeout)))).toBe('TOO_SLOW')
    expect(given.isCancelled).toBe(true)
    const whole = pace('a', 'b')
    expect(await read(withTimeout(whole, timeout))).toBe('ab')
    expect(whole.isCancelled).toBe(false)
  })
})
