import { useRef, useState } from 'preact/hooks'
import { Icon } from '../parts/icon'
import { saveFile } from '../parts/save-file'
import { call } from '../server/call'
import { isAbort } from '../server/refusal'
import { tellDone, tellError } from '../shell/toasts'
import type { Row } from './columns'
import { PAGE, type Query, readPage } from './use-rows'

/** Saves the objects that the table shows, as lines of JSON, also those that are not on the screen. */
export function Download({ query }: { query: Query }) {
  const [count, setCount] = useState<number | null>(null)
  const abort = useRef<AbortController | null>(null)
  const save = async () => {
    abort.current = new AbortController()
    setCount(0)
    try {
      const lines = await collect(query, abort.current.signal, setCount)
      saveFile(`${query.table}.ndjson`, 'application/x-ndjson', lines)
      tellDone(`${lines.length.toLocaleString()} objects were saved`)
    } catch (error) {
      if (!isAbort(error)) tellError(error)
    } finally {
      setCount(null)
    }
  }
  if (count !== null) {
    return <button onClick={() => abort.current?.abort()}>Stop at {count.toLocaleString()}</button>
  }
  return (
    <button title="Save as a file" aria-label="Save as a file" onClick={() => void save()}>
      <Icon name="download" />
    </button>
  )
}

async function collect(
  query: Query,
  signal: AbortSignal,
  tell: (count: number) => void,
): Promise<readonly string[]> {
  const lines: string[] = []
  const add = async (row: Row) => {
    const { value } =
      row.value === null || row.cut.length > 0
        ? await call<{ value: unknown }>('object.show', { ...query, key: row.key }, { signal })
        : row
    lines.push(`${JSON.stringify(value)}\n`)
  }
  let cursor: string | null = null
  do {
    const asked: object = { ...query, limit: PAGE, cursor }
    const page = await readPage<Row>('object.list', 'objects', asked, signal)
    for (const row of page.items) await add(row)
    tell(lines.length)
    cursor = page.cursor
  } while (cursor !== null)
  return lines
}
