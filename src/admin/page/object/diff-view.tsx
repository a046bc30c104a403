import { useMemo } from 'preact/hooks'
import { diffLines, foldSame } from './diff'

const SIGNS = { same: ' ', removed: '−', added: '+' } as const

/** The difference between two texts, line by line. */
export function DiffView({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => foldSame(diffLines(before, after)), [before, after])
  return (
    <div class="diff" role="region" aria-label="Changes" tabIndex={0}>
      {lines.map((line, at) =>
        typeof line === 'number' ? (
          <div key={at} class="diff-gap">
            {line === 1 ? '1 line' : `${line} lines`} unchanged
          </div>
        ) : (
          <div key={at} class={`diff-line ${line.kind}`}>
            <span aria-label={line.kind === 'same' ? undefined : line.kind}>
              {SIGNS[line.kind]}
            </span>
            <bdi>{line.text}</bdi>
          </div>
        ),
      )}
    </div>
  )
}
