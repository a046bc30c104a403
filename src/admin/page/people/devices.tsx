import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { shortText, Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { may } from '../server/session'
import { database } from '../shell/route'

interface DeviceInfo {
  readonly device: string
  /** When it was last noted to have synced, ms. */
  readonly seen: number
  readonly tables: readonly string[]
  readonly isConnected: boolean
  /** The page; null for a program and without a connection. */
  readonly origin: string | null
  /** `muted`: it may not listen any more. */
  readonly phase: 'working' | 'waiting' | 'muted' | null
  /** How many revisions it was told to fetch and has not; null without a connection. */
  readonly behind: number | null
}

const EVERY_MS = 5_000

/** The local databases of a user with their state of sync. */
export function Devices({ userId }: { userId: string }) {
  const { value, error } = useOperation<{ readonly devices: readonly DeviceInfo[] }>(
    'device.list',
    may('device.list') ? { database: database.value, user: userId } : null,
    { every: EVERY_MS },
  )
  if (!may('device.list')) return null
  return (
    <section class="part">
      <h3>Devices</h3>
      <Failure error={error} />
      <ul class="rows">
        {value?.devices.map((device) => (
          <DeviceRow key={device.device} device={device} />
        ))}
        {value?.devices.length === 0 && <li class="soft">No device has synced yet.</li>}
      </ul>
    </section>
  )
}

function DeviceRow({ device: info }: { device: DeviceInfo }) {
  const { device, seen, tables, isConnected, origin, phase, behind } = info
  return (
    <li>
      <span class={`state ${isConnected ? 'good' : ''}`}>
        <span class="dot" />
      </span>
      <span class="list-main">
        <span class="clip" title={shortText(device)}>
          {origin === null ? (
            <span class="mono">
              <Text text={device} most={16} />
            </span>
          ) : (
            <Text text={origin} />
          )}
        </span>
        <span class="clip soft small">
          <Text text={tables.join(', ') || 'no table'} />
        </span>
      </span>
      {phase === 'muted' && <span class="badge warn">may not listen</span>}
      {behind !== null && behind > 0 && (
        <span class="badge warn">{behind.toLocaleString()} behind</span>
      )}
      <span class="soft small">{isConnected ? 'connected' : <Ago at={seen} />}</span>
    </li>
  )
}
