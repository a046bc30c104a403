import { type Config, readConfig, type Sources } from '../config/config'
import { SETTINGS } from '../config/settings'
import { type Logs, serverLog } from '../log/log'

/** The parts of a running server that take new settings. */
interface Reloadable {
  readonly logs: Pick<Logs, 'setLevel'>
  /** Looks at the files of the certificate. */
  readonly server: { reload(): Promise<void> }
}

/**
 * Reads the settings again: renewed certificates and the log level take effect at once. Other settings that differ
 * from `running`, which the server was started with, are named in the log. With wrong settings, which the log
 * explains, only certificates are taken. Never throws.
 */
export function reloadSettings(
  running: Config,
  sources: Sources,
  { logs, server }: Reloadable,
): void {
  void server.reload()
  let read: Config
  try {
    read = readConfig(sources)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    serverLog.error('The settings cannot be read again, so those of the start stay', { reason })
    return
  }
  logs.setLevel(read.logLevel)
  const waiting = Object.keys(SETTINGS).filter(
    (name) => name !== 'logLevel' && !isSame(running, read, name as keyof Config),
  )
  // A warning, since it is to be seen at most levels. Values are left out: some are secret.
  if (waiting.length > 0)
    serverLog.warning('Changed settings wait for a restart', { settings: waiting })
  else serverLog.info('The settings were read again', { logLevel: read.logLevel })
}

function isSame(one: Config, other: Config, name: keyof Config): boolean {
  return JSON.stringify(one[name]) === JSON.stringify(other[name])
}
