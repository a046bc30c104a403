import { useState } from 'preact/hooks'
import { PAGE, usePages } from '../data/use-rows'
import { Ago } from '../parts/ago'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Segments } from '../parts/segments'
import { Text } from '../parts/text'
import { database } from '../shell/route'

interface Line {
  readonly at: number
  readonly operation: string
  readonly result: string
  readonly door: string
  readonly uid: number | null
  readonly client: string | null
  readonly user: string | null
  readonly address: string | null
  /** The login to the page; null for other ways. */
  readonly session: string | null
}

/** Operations that changed something or showed a secret, the newest first. */
export function Audit() {
  const [of, setOf] = useState<'database' | 'server'>('database')
  const found = usePages<Line>('audit.list', 'lines', {
    database: of === 'database' ? database.value : null,
    newestFirst: true,
    limit: PAGE,
  })
  const { rows: lines, isComplete, isMore, error } = found
  return (
    <div class="body narrow">
      <Segments
        label="Of"
        choices={[
          ['database', database.value],
          ['server', 'The server'],
        ]}
        chosen={of}
        onChoose={setOf}
      />
      <Failure error={error} onAgain={found.retry} />
      {lines.length === 0 && isComplete && error === undefined && (
        <Empty icon="jobs" title="Nothing was changed in the last 30 days" />
      )}
      {lines.length > 0 && (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col">By</th>
              <th scope="col" class="wide-only">
                Way
              </th>
              <th scope="col" class="wide-only">
                Login
              </th>
              <th scope="col">Result</th>
              <th scope="col">When</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line, at) => (
              <tr key={`${line.at} ${at}`}>
                <th scope="row" class="mono">
                  {line.operation}
                </th>
                <td>
                  <Text text={callerOf(line)} />
                </td>
                <td class="soft wide-only">{line.door}</td>
                <td class="soft wide-only mono small">{line.session}</td>
                <td>
                  <span
                    class={`badge ${line.result === 'done' ? 'good' : line.result === 'begun' ? 'info' : 'bad'}`}
                  >
                    {line.result}
                  </span>
                </td>
                <td class="soft">
                  <Ago at={line.at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {isMore && (
        <button class="more" onClick={found.loadMore}>
          More
        </button>
      )}
    </div>
  )
}

function callerOf({ door, user, client, uid, address }: Line): string {
  const name = user ?? client ?? (door === 'job' ? 'the server' : ownerOf(uid))
  return address === null ? name : `${name}, ${address}`
}

function ownerOf(uid: number | null): string {
  return uid === null ? 'owner of the data folder' : `user ${uid} of the machine`
}
