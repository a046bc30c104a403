import { expect, test } from 'bun:test'
import { batchLines, type Outlet } from '../../src/log/line-sink'
import { until } from '../timing'

const lost = (lines: number) => `lost ${lines}`

/** An outlet that takes a batch when it is let. */
function setupOutlet() {
  const batches: string[] = []
  const gates: (() => void)[] = []
  const outlet: Outlet = {
    write(bytes) {
      batches.push(Buffer.from(bytes).toString())
      return new Promise((resolve) => gates.push(resolve))
    },
    writeNow: (bytes) => void batches.push(Buffer.from(bytes).toString()),
  }
  return { outlet, batches, openNext: () => gates.shift()?.() }
}

test('lines that come together leave together, soon', async () => {
  const { outlet, batches } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('a')
  sink.write('b')
  expect(batches).toEqual([])
  await until(() => batches.length > 0)
  expect(batches).toEqual(['a\nb\n'])
})

test('lines that come all the time leave as rarely', async () => {
  let batches = 0
  const outlet: Outlet = {
    // Lines come during every write.
    write() {
      batches += 1
      return Bun.sleep(5)
    },
    writeNow() {},
  }
  const sink = batchLines(outlet, lost)
  const begun = performance.now()
  for (let count = 0; count < 150; count++) {
    sink.write('a')
    await Bun.sleep(1)
  }
  await sink.flush()
  const most = (performance.now() - begun) / 50 + 1
  expect(batches).toBeGreaterThanOrEqual(2)
  expect(batches).toBeLessThanOrEqual(most)
})

test('a full batch leaves at once', () => {
  const { outlet, batches } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('x'.repeat(70_000))
  expect(batches).toHaveLength(1)
})

test('one write is under way at a time, and the order is kept', async () => {
  const { outlet, batches, openNext } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('first')
  const flushed = sink.flush()
  sink.write('second')
  sink.write('third')
  const rest = sink.flush()
  expect(batches).toEqual(['first\n'])
  openNext()
  await Bun.sleep(0)
  expect(batches).toEqual(['first\n', 'second\nthird\n'])
  openNext()
  await Promise.all([flushed, rest])
})

test('flushing waits until everything has left', async () => {
  const { outlet, openNext } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('a')
  let hasFlushed = false
  const flushed = sink.flush().then(() => (hasFlushed = true))
  await Bun.sleep(5)
  expect(hasFlushed).toBe(false)
  openNext()
  await flushed
  await sink.flush()
})

test('a line that comes during a write leaves soon after it', async () => {
  const { outlet, batches, openNext } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('first')
  void sink.flush()
  sink.write('second')
  await Bun.sleep(120)
  expect(batches).toEqual(['first\n'])
  openNext()
  await Bun.sleep(0)
  expect(batches).toEqual(['first\n', 'second\n'])
})

test('lines leave after a flush that found none', async () => {
  const { outlet, batches } = setupOutlet()
  const sink = batchLines(outlet, lost)
  await sink.flush()
  sink.write('a')
  void sink.flush()
  expect(batches).toEqual(['a\n'])
})

test('a process that ends writes the rest without waiting', () => {
  const { outlet, batches } = setupOutlet()
  const sink = batchLines(outlet, lost)
  sink.write('a')
  sink.flushNow()
  sink.flushNow()
  expect(batches).toEqual(['a\n'])
})

test('a reader that stands still costs lines, counted, and not memory', async () => {
  const { outlet, batches, openNext } = setupOutlet()
  const sink = batchLines(outlet, lost)
  const line = 'x'.repeat(100_000)
  for (let i = 0; i < 200; i++) sink.write(line)
  openNext()
  await Bun.sleep(0)
  const [, second = ''] = batches
  expect(second.length).toBeLessThan(9_000_000)
  expect(second).toMatch(/^lost \d+\nx/)
})

test('a log that cannot be written does not disturb the server', async () => {
  let attempts = 0
  const outlet: Outlet = {
    write: () => {
      attempts += 1
      return Promise.reject(new Error('EPIPE'))
    },
    writeNow() {},
  }
  const sink = batchLines(outlet, lost)
  sink.write('a')
  await sink.flush()
  sink.write('b')
  await sink.flush()
  expect(attempts).toBe(2)
})
