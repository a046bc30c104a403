import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { may } from '../server/session'
import { database } from '../shell/route'

interface DeviceInfo {
  readonly device: string
  readonly seen?: number | null
  readonly revision?: number | null
  /** How many revisions it has not fetched yet. */
  readonly behind?: number | null
  readonly isConnected?: boolean
}

/** The local databases of a user with their state of sync. */
export function Devices({ userId }: { userId: string }) {
  const { value, error } = useOperation<{ readonly devices: readonly DeviceInfo[] }>(
    'device.list',
    may('device.list') ? { database: database.value, user: userId } : null,
  )
  if (!may('device.list')) return null
  return (
    <section class="part">
      <h3>Devices</h3>
      <Failure error={error} />
      <ul class="rows">
        {value?.devices.map(({ device, seen, behind, isConnected }) => (
          <li key={device}>
            <span class={`state ${isConnected === true ? 'good' : ''}`}>
              <span class="dot" />
            </span>
            <span class="mono clip">
              <Text text={device} most={16} />
            </span>
            {isConnected === true ? <span class="soft small">connected</span> : <Ago at={seen} />}
            {behind !== null && behind !== undefined && behind > 0 && (
              <span class="badge warn">{behind.toLocaleString()} behind</span>
            )}
          </li>
        ))}
        {value?.devices.length === 0 && <li class="soft">No device has synced yet.</li>}
      </ul>
    </section>
  )
}
