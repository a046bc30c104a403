import { freePort } from '../../ports'
import type { Bench, Workload } from '../bench'
import { atMost } from '../result'
import { residentMegabytes } from '../server-process'
import { median } from '../statistics'

const startsPerRound = 2

interface Start {
  /** From spawning the executable to the first 200, ms. */
  readonly duration: number
  /** Resident memory a second later, MB. */
  readonly idle: number
}

/** How soon the executable answers, and its memory when idle. */
export const startUp: Workload = {
  name: 'start',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    const existing = bench.newPath('existing')
    await start(bench, ['--data', existing])
    const ways = [
      { title: 'a fresh folder', place: () => ['--data', bench.newPath('fresh')] },
      { title: 'an existing folder', place: () => ['--data', existing] },
      { title: 'memory', place: () => ['--memory'] },
    ]
    const idle: number[] = []
    const figures = []
    for (const { title, place } of ways) {
      const durations: number[] = []
      for (let number = 0; number < bench.options.rounds * startsPerRound; number += 1) {
        const started = await start(bench, place())
        durations.push(started.duration)
        idle.push(started.idle)
      }
      figures.push({
        title: `Start to first 200 on ${title}`,
        bar: atMost(35, 20, 'ms'),
        values: durations,
        value: median(durations),
      })
    }
    const bar = atMost(70, 55, 'MB')
    return [...figures, { title: 'Idle RSS', bar, values: idle, value: Math.max(...idle) }]
  },
}

async function start(bench: Bench, place: readonly string[]): Promise<Start> {
  const port = freePort()
  const begin = performance.now()
  const child = Bun.spawn(
    [bench.options.satchel, 'serve', ...place, '--port', String(port), '--json'],
    { stdout: 'ignore', stderr: Bun.file(bench.newPath('start.log')), signal: bench.signal },
  )
  try {
    await firstOk(`http://127.0.0.1:${port}/health`, begin + 5000)
    const duration = performance.now() - begin
    await Bun.sleep(1000)
    return { duration, idle: await residentMegabytes(child.pid) }
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }
}

async function firstOk(address: string, deadline: number): Promise<void> {
  for (;;) {
    try {
      if ((await fetch(address)).ok) return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await Bun.sleep(0.5)
  }
}
