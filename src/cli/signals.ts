import process from 'node:process'

/** 128 and the number of the signal, as shells have it. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Resolves at the first SIGTERM or SIGINT. The second one ends the process at once, because who
 * sends it does not want to wait for what the first one began (promises.md 45).
 */
export function untilSignal(beforeExit: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isStopping = false
  for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
    process.on(signal, () => {
      if (isStopping) {
        beforeExit()
        process.exit(exitCode)
      }
      isStopping = true
      resolve()
    })
  }
  return promise
}
