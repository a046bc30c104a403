const FIRST = 20_000
const COUNT = 12_000

/**
 * A port at which nothing listens, below those that the system gives away: it stays free until this
 * process takes it, and while a server that had it starts again.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}
