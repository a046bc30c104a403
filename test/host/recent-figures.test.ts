import { expect, test } from 'bun:test'
import { Meter } from '../../src/domain/store/meter'
import { createRecentFigures, MOST_FIGURES } from '../../src/host/recent-figures'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { until } from '../timing'

function setup(meter: Meter | null = new Meter()) {
  const stack = new DisposableStack()
  const { path } = stack.use(temporaryFolder())
  const clock = createTestClock()
  let tick = () => undefined as void
  let isStopped = false
  const every = (_ms: number, work: () => void) => {
    tick = work
    return { [Symbol.dispose]: () => void (isStopped = true) }
  }
  const folder = { path, figures: () => ({ meter: meter ?? undefined, databases: [] }) }
  const recent = stack.use(createRecentFigures({ folder, sockets: () => 3, clock, every }))
  return {
    recent,
    meter,
    clock,
    tick: () => tick(),
    isStopped: () => isStopped,
    [Symbol.dispose]: () => stack.dispose(),
  }
}

test('the figures of ten seconds are those of the requests and units in them', () => {
  using made = setup()
  const { recent, clock, tick } = made
  const meter = made.meter!
  for (let turn = 0; turn < 95; turn += 1) recent.count('/main/sync', 200, 1)
  for (let turn = 0; turn < 5; turn += 1) recent.count('/main/sync', 500, 800)
  meter.commits += 20
  meter.waits.observe(0.002)
  meter.waits.observe(0.004)
  tick()
  const [first] = recent.list()
  expect(first).toMatchObject({
    at: clock.now(),
    requests: 10,
    failures: 0.5,
    commits: 2,
    sockets: 3,
  })
  expect(first?.wait).toBeCloseTo(3)
  // Half of the values lie in the bucket of a millisecond, which ends at 1.27.
  expect(first?.median).toBeGreaterThan(0.8)
  expect(first?.median).toBeLessThan(1.27)
  expect(first?.memory).toBeGreaterThan(1_000_000)

  recent.count('/main/sync', 200, 800)
  tick()
  const last = recent.list().at(-1)
  expect(last).toMatchObject({ requests: 0.1, failures: 0, commits: 0, wait: null })
  expect(last?.p95).toBeGreaterThan(500)
  expect(last?.p95).toBeLessThan(1_000)
})

test('seconds without a request have no times, and those of the page itself are not counted', () => {
  using made = setup()
  made.recent.count('/admin', 200, 5)
  made.recent.count('/admin/api/status', 200, 5)
  made.tick()
  expect(made.recent.list()[0]).toMatchObject({ requests: 0, median: null, p95: null })
  made.recent.count('/administration/all/notes', 200, 5)
  made.tick()
  expect(made.recent.list()[1]).toMatchObject({ requests: 0.1 })
})

test('an engine that does not count leaves its figures out', () => {
  using made = setup(null)
  made.tick()
  expect(made.recent.list()[0]).toMatchObject({ commits: null, wait: null })
})

test('an hour of figures is kept, with the free disk, until the server stops', async () => {
  const made = setup()
  for (let turn = 0; turn < MOST_FIGURES + 5; turn += 1) {
    made.clock.advance(10_000)
    made.tick()
  }
  expect(made.recent.list()).toHaveLength(MOST_FIGURES)
  expect(made.recent.list().at(-1)?.at).toBe(made.clock.now())
  await until(() => {
    made.tick()
    return (made.recent.list().at(-1)?.free ?? 0) > 0
  })
  made[Symbol.dispose]()
  expect(made.isStopped()).toBe(true)
})
