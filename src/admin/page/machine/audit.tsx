import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Segments } from '../parts/segments'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
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
}

/** Operations that changed something or showed a secret, the newest first. */
export function Audit() {
  const [of, setOf] = useState<'database' | 'server'>('database')
  const { value, error, reload } = useOperation<{ readonly lines: readonly Line[] }>('audit.list', {
    database: of === 'database' ? database.value : null,
  })
  const lines = value?.lines.toReversed() ?? []
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
      <Failure error={error} onAgain={reload} />
      {value === undefined ? null : lines.length === 0 ? (
        <Empty icon="jobs" title="Nothing was changed in the last 30 days" />
      ) : (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col">By</th>
              <th scope="col" class="wide-only">
                Way
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
    </div>
  )
}

function callerOf({ user, client, uid, address }: Line): string {
  const name =
    user ?? client ?? (uid === null ? 'owner of the data folder' : `user ${uid} of the machine`)
  return address === null ? name : `${name}, ${address}`
}
