import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { SearchField } from '../parts/search-field'
import { Segments } from '../parts/segments'
import { visible } from '../parts/visible'
import { follow, type FollowState } from '../server/call'

const MOST = 1_000
const CUT = 'Lines may be missing here: the log was not followed for a while'
const LEVELS = ['all', 'warning', 'error'] as const

interface LogLine {
  readonly id: number
  readonly level: string
  readonly time: string
  readonly logger: string
  readonly text: string
}

/** The log of the server from now on. */
export function Log() {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [state, setState] = useState<FollowState>('connecting')
  const [error, setError] = useState<unknown>(undefined)
  const [level, setLevel] = useState<(typeof LEVELS)[number]>('all')
  const [search, setSearch] = useState('')
  const [turn, setTurn] = useState(0)
  const count = useRef(0)
  useEffect(() => {
    const abort = new AbortController()
    let hasFollowed = false
    const onItem = (item: unknown) => {
      count.current += 1
      const line = readLine(item, count.current)
      setLines((before) => [line, ...before.slice(0, MOST - 1)])
    }
    const onState = (next: FollowState) => {
      setState(next)
      if (next !== 'following') return
      if (hasFollowed) onItem({ level: 'warning', message: CUT })
      hasFollowed = true
    }
    setError(undefined)
    follow('log.follow', {}, { signal: abort.signal, onItem, onState }).catch(setError)
    return () => abort.abort()
  }, [turn])
  const wanted = search.toLowerCase()
  const shown = lines.filter(
    (line) =>
      (level === 'all' ||
        line.level === level ||
        (level === 'warning' && line.level === 'error')) &&
      (line.text.toLowerCase().includes(wanted) || line.logger.includes(wanted)),
  )
  return (
    <div class="body">
      <div class="actions">
        <SearchField label="Text" value={search} onInput={setSearch} />
        <Segments
          label="Level"
          choices={LEVELS.map((each) => [each, each === 'all' ? 'All' : `${each}s`] as const)}
          chosen={level}
          onChoose={setLevel}
        />
      </div>
      <Failure error={error} onAgain={() => setTurn(turn + 1)} />
      {shown.length === 0 && (
        <p class="soft">
          {state === 'following' ? 'Lines appear here as they are written.' : 'Connecting…'}
        </p>
      )}
      <ol class="log" aria-label="Log" tabIndex={0}>
        {shown.map(({ id, time, logger, level, text }) => (
          <li key={id} class={level}>
            <span class="soft">{time}</span> <b>{logger}</b> {visible(text)}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Reads a line of the log, whatever it has. */
function readLine(item: unknown, id: number): LogLine {
  const { kind, count, time, level, logger, message, ...rest } = item as Record<string, unknown>
  if (kind === 'missed') {
    const text = `${textOf(count)} lines were too many to show`
    return { id, level: 'warning', time: '', logger: '', text }
  }
  const more = Object.entries(rest).map(([name, value]) => `${name}=${textOf(value)}`)
  return {
    id,
    level: textOf(level),
    time: textOf(time).slice(11, 23),
    logger: textOf(logger),
    text: [textOf(message), ...more].join(' ').trim(),
  }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
