import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { database } from '../shell/route'
import { Text } from '../parts/text'

interface Trace {
  /** ms since the epoch; null where only the order is known. */
  readonly at: number | null
  readonly text: string
}

/** The traces that an object has left: there is no history of versions. */
export function Traces({ table, objectKey: key }: { table: string; objectKey: string }) {
  const { value, error } = useOperation<{ readonly traces: readonly Trace[] }>('object.traces', {
    database: database.value,
    table,
    key,
  })
  if (value === undefined) return <Failure error={error} />
  return (
    <ol class="steps">
      {value.traces.map(({ at, text }) => (
        <li key={text} class="good">
          <span class="step-title">{at === null ? '' : <Ago at={at} />}</span>
          <Text text={text} />
        </li>
      ))}
    </ol>
  )
}
