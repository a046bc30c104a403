import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openFolderTarget } from '../../src/backups/folder'
import { startAuthority } from '../acme/authority'
import { createTestClock } from '../auth/setup'
import { runJson } from '../cli/setup'
import { startSmtp } from '../mail/smtp-server'
import { freePort } from '../ports'
import { temporaryFolder } from '../setup'
import { STORES } from '../sync/model/server'
import { until } from '../timing'
import { startMovedServer } from './server'
import { openWire } from './wire'

export type Office = Awaited<ReturnType<typeof openOffice>>

export const KEPT_BACKUPS = 7
/** Renewed at two thirds of it. */
const CERTIFICATE_DAYS = 12

/** A server as a company runs it, from source, with its mail server, its authority and a folder for backups. */
export async function openOffice(start: number) {
  await using undo = new AsyncDisposableStack()
  const place = undo.use(temporaryFolder()).path
  const [data, backups] = [join(place, 'data'), join(place, 'backups')]
  mkdirSync(backups, { mode: 0o700 })
  const clock = createTestClock(start)
  const smtp = undo.use(await startSmtp())
  const authority = undo.use(startAuthority(() => clock.now(), CERTIFICATE_DAYS))
  const [port, acmePort] = [freePort(), freePort()]
  authority.httpPort = acmePort
  const server = undo.use(
    await startMovedServer(clock, {
      data,
      port,
      acme: 'localhost.example',
      acmeAgreeTos: true,
      acmeDirectory: authority.directory,
      acmePort,
      backup: backups,
      backupKeep: `${KEPT_BACKUPS}d`,
      smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
      mailFrom: 'app@example.com',
    }),
  )
  const wire = openWire(`https://127.0.0.1:${port}/main`)
  await until(() =>
    wire.send('GET', '/my/items').then(
      () => true,
      () => false,
    ),
  )
  /** Runs a command on the data folder. */
  const run = (args: readonly string[], input?: string) =>
    runJson([...args, '--data', data], input === undefined ? {} : { input })
  await run(['schema', 'push', '-'], JSON.stringify(STORES))
  const parts = undo.move()
  return {
    place,
    data,
    backups,
    target: openFolderTarget(backups),
    now: () => clock.now(),
    smtp,
    authority,
    server,
    client: server.client,
    wire,
    run,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
