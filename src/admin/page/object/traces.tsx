import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { database } from '../shell/route'
import { visible } from '../parts/visible'
import { Text } from '../parts/text'

interface Trace {
  /** ms since the epoch; null where only the order is known. */
  readonly at: number | null
  readonly revision: number
  readonly text: string
  /** The device that wrote, and its user, as far as they are known. */
  readonly by: { readonly device: string; readonly userId: string } | null
}

/** The traces that an object has left: there is no history of versions. */
export function Traces({
  table,
  objectKey: key,
  revision,
}: {
  table: string
  objectKey: string
  /** The last one of the object that is known. */
  revision: number
}) {
  const { value, error } = useOperation<{ readonly traces: readonly Trace[] }>(
    'object.traces',
    { database: database.value, table, key },
    { version: revision },
  )
  if (value === undefined) return <Failure error={error} />
  return (
    <>
      <ol class="steps">
        {value.traces.map(({ at, revision, text, by }) => (
          <li key={`${revision} ${text}`} class="good">
            <span class="step-title">{at === null ? 'unknown' : <Ago at={at} />}</span>
            <span>
              <Text text={text} />
              <span class="soft small trace-by">
                revision {revision.toLocaleString()}
                {by !== null && (
                  <>
                    {' by '}
                    <Text text={by.userId} />, device {visible(by.device.slice(0, 6))}
                  </>
                )}
              </span>
            </span>
          </li>
        ))}
      </ol>
      <p class="soft small">
        Earlier values are not kept:{' '}
        <a href="docs/backup" target="_blank" rel="noopener">
          a backup that is restored as another database
        </a>{' '}
        has those of its time.
      </p>
    </>
  )
}
