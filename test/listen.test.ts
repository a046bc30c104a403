import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { type Application, listen } from '../src/listen'
import { temporaryFolder } from './setup'
import { until } from './timing'

const APPLICATION: Application = { fetch: () => new Response() }

function makeCertificate(folder: string, name: string): void {
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`
  const { exitCode } = Bun.spawnSync(['openssl', ...words.split(' ')], {
    cwd: folder,
    stderr: 'ignore',
  })
  expect(exitCode).toBe(0)
}

function serversInMemory(): number {
  Bun.gc(true)
  return heapStats().objectTypeCounts['HTTPSServer'] ?? 0
}

test.if(Bun.which('openssl') !== null)(
  'the sockets of former certificates are freed, that of the first one too',
  async () => {
    using folder = temporaryFolder()
    const names = ['first', 'second', 'third']
    for (const name of names) makeCertificate(folder.path, name)
    const [tlsCert, tlsKey] = ['crt', 'key'].map((kind) => join(folder.path, `first.${kind}`)) as [
      string,
      string,
    ]
    const listener = await listen({ host: '127.0.0.1', port: 0, tlsCert, tlsKey }, APPLICATION)
    try {
      listener.complete()
      const atStart = serversInMemory()
      for (const name of names.slice(1)) {
        renameSync(join(folder.path, `${name}.crt`), tlsCert)
        renameSync(join(folder.path, `${name}.key`), tlsKey)
        await listener.reload()
      }
      await until(() => serversInMemory() <= atStart)
      expect(serversInMemory()).toBeLessThanOrEqual(atStart)
    } finally {
      await listener.stop()
    }
  },
)
