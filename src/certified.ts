import { existsSync } from 'node:fs'
import { openCertificateFiles } from './acme/certificate-files'
import { openAccount } from './acme/client'
import { createRenewal } from './acme/renewal'
import { startResponder } from './acme/responder'
import type { Clock } from './clock'
import type { Config } from './config/config'
import { type Application, findFreePort, listen, type Listener } from './listen'

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

/** What `listenCertified` needs of the server. */
export interface CertifiedParts {
  readonly clock: Clock
  /** Calls `work` again and again, until it is disposed. */
  readonly every: (ms: number, work: () => void) => Disposable
  /** The path of the data folder. */
  readonly folder: string
  readonly names: readonly string[]
  /** False while the server starts or stops. */
  readonly isReady: () => boolean
}

/**
 * Listens with a certificate that the server gets by itself; before the first one its port is closed. Throws what
 * `listen` throws, and `CONFLICT` for a port for http that is in use.
 */
export async function listenCertified(
  config: Config,
  application: Application,
  { folder, names, isReady, clock, every }: CertifiedParts,
): Promise<Listener> {
  const files = openCertificateFiles(folder)
  let listener: Listener | undefined
  let isComplete = false
  let isStopped = false
  const port = findFreePort(config, application)
  const responder = startResponder({
    host: config.host,
    port: config.acmePort,
    names,
    httpsPort: port,
    isReady: () => listener !== undefined && isComplete && isReady(),
  })

  async function install(): Promise<void> {
    if (isStopped) return
    if (listener !== undefined) return await listener.reload()
    listener = await listen(
      { ...config, port, tlsCert: files.pair, tlsKey: files.pair },
      application,
    )
    if (isComplete) listener.complete()
  }

  await using stack = new AsyncDisposableStack()
  stack.use(responder)
  if (existsSync(files.pair)) await install()
  const publish = (token: string, proof: string) => responder.publish(token, proof)
  const { acmeDirectory, acmeEmail: email } = config
  const directory = acmeDirectory ?? LETS_ENCRYPT
  const renewal = stack.use(
    createRenewal({
      clock,
      every,
      random: Math.random,
      files,
      names,
      open: (accountKey, signal) => openAccount({ directory, email, accountKey, signal, publish }),
      install,
    }),
  )
  const owned = stack.move()
  return {
    url: `https://${names[0]}${port === 443 ? '' : `:${port}`}`,
    async drain(late) {
      isStopped = true
      // Before the data folder is released: certificates are kept in it.
      await renewal[Symbol.asyncDispose]()
      await listener?.drain(late)
    },
    async stop() {
      isStopped = true
      await owned.disposeAsync()
      await listener?.stop()
    },
    certificate: () => renewal.status(),
    reload: async () => await listener?.reload(),
    complete() {
      isComplete = true
      listener?.complete()
      void renewal.look()
    },
  }
}
