import { useEffect, useRef } from 'preact/hooks'
import { useSlices } from '../parts/use-slices'
import { diffSteps } from './diff'
import { Preparing } from './preparing'

const SIGNS = { same: ' ', removed: '−', added: '+' } as const
/** More lines, and more characters of one, are counted: a browser takes seconds to lay them out. */
const MOST_LINES = 1_000
const MOST_CHARACTERS = 5_000

interface DiffViewProps {
  readonly before: string
  readonly after: string
  /** True for the part that the keyboard goes to when it appears. */
  readonly isFocused?: boolean
}

/** The difference between two texts, line by line. */
export function DiffView({ before, after, isFocused = false }: DiffViewProps) {
  const lines = useSlices(() => diffSteps(before, after), [before, after])
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isFocused) box.current?.focus()
  }, [])
  const more = (lines?.length ?? 0) - MOST_LINES
  return (
    <div ref={box} class="diff" role="region" aria-label="Changes" tabIndex={0}>
      {lines === undefined && <Preparing />}
      {lines?.slice(0, MOST_LINES).map((line, at) =>
        typeof line === 'number' ? (
          <div key={at} class="diff-gap">
            {line === 1 ? '1 line' : `${line} lines`} unchanged
          </div>
        ) : (
          <div key={at} class={`diff-line ${line.kind}`}>
            <span aria-label={line.kind === 'same' ? undefined : line.kind}>
              {SIGNS[line.kind]}
            </span>
            <bdi>{shortened(line.text)}</bdi>
          </div>
        ),
      )}
      {more > 0 && <div class="diff-gap">{more.toLocaleString()} more lines are not shown</div>}
    </div>
  )
}

function shortened(text: string): string {
  const more = text.length - MOST_CHARACTERS
  if (more <= 0) return text
  return `${text.slice(0, MOST_CHARACTERS)}… ${more.toLocaleString()} more characters`
}
