import { useEffect } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { may } from '../server/session'
import { sizeText } from '../value/typed'
import { Plots } from './plots'

interface ServerStatus {
  readonly version: string
  readonly pid: number
  readonly url: string | null
  readonly since: number | null
  readonly folder: string
  readonly databases: readonly {
    readonly name: string
    readonly bytes: number
    readonly logBytes: number
    readonly blobs: number | null
    readonly blobBytes: number | null
  }[]
  readonly sockets: number
  readonly jobs: { readonly running: number; readonly stopped: number }
  readonly backups: {
    readonly last: number | null
    readonly schedule: {
      readonly target: string
      readonly next: string
      readonly last: { readonly name: string; readonly at: string; readonly bytes: number } | null
      readonly failure: { readonly at: string; readonly reason: string } | null
    } | null
  }
  readonly certificate: { readonly expires?: number | string } | null
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number }
}

const EVERY_MS = 5_000

/** The state of the server in a few numbers. */
export function Status({ onVersion }: { onVersion: (text: string) => void }) {
  const { value, error, reload } = useOperation<ServerStatus>('status', {}, { every: EVERY_MS })
  const version = value?.version
  useEffect(() => onVersion(version === undefined ? '' : `Satchel ${version}`), [version])
  if (value === undefined) return <Failure error={error} onAgain={reload} />
  const { disk, databases, backups, jobs } = value
  const used = disk.sizeBytes - disk.freeBytes
  const own = databases.reduce(
    (sum, { bytes, logBytes, blobBytes }) => sum + bytes + logBytes + (blobBytes ?? 0),
    0,
  )
  return (
    <div class="body">
      <Failure error={error} />
      <div class="tiles">
        <Tile name="Live connections" value={value.sockets.toLocaleString()} />
        <Tile name="Databases" value={databases.length.toLocaleString()} />
        <Tile name="Data" value={sizeText(own)} />
        <Tile
          name="Jobs"
          value={`${jobs.running}`}
          note={jobs.stopped > 0 ? `${jobs.stopped} stopped` : ''}
        />
        <Tile name="Free on the disk" value={sizeText(disk.freeBytes)}>
          <meter
            aria-label="Used part of the disk"
            min={0}
            max={disk.sizeBytes}
            high={disk.sizeBytes * 0.85}
            value={used}
          />
        </Tile>
      </div>
      {may('server.figures') && <Plots />}
      <div class="columns">
        <section class="part box">
          <h2>Process</h2>
          <Facts>
            <Fact name="Address">{value.url}</Fact>
            <Fact name="Started">
              <Ago at={value.since} />
            </Fact>
            <Fact name="Process">{value.pid}</Fact>
            <Fact name="Folder">
              <code>{value.folder}</code>
            </Fact>
            <Fact name="Certificate">
              {value.certificate === null ? (
                <span class="soft">none: plain http</span>
              ) : (
                <>
                  expires <Ago at={value.certificate.expires} />
                </>
              )}
            </Fact>
          </Facts>
        </section>
        <section class="part box">
          <h2>Backups</h2>
          <Facts>
            <Fact name="Last">
              <Ago at={backups.schedule?.last?.at ?? backups.last} />
            </Fact>
            {backups.schedule === null ? (
              <Fact name="Schedule">
                <span class="soft">
                  none. <code>--backup</code> makes one every night, see{' '}
                  <a href="docs/backup" target="_blank" rel="noopener">
                    Back up and restore
                  </a>
                </span>
              </Fact>
            ) : (
              <>
                <Fact name="Next">
                  <Ago at={backups.schedule.next} />
                </Fact>
                <Fact name="Where">{backups.schedule.target}</Fact>
                {backups.schedule.failure !== null && (
                  <Fact name="Failure">
                    <span class="bad-text">{backups.schedule.failure.reason}</span>
                  </Fact>
                )}
              </>
            )}
          </Facts>
        </section>
      </div>
    </div>
  )
}

function Tile({
  name,
  value,
  note = '',
  children,
}: {
  name: string
  value: string
  note?: string
  children?: preact.ComponentChildren
}) {
  return (
    <div class="tile">
      <span class="soft small">{name}</span>
      <span class="tile-value number">{value}</span>
      {note !== '' && <span class="warn-text small">{note}</span>}
      {children}
    </div>
  )
}
