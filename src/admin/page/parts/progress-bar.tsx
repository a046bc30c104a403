import type { Progress } from '../server/call'

/** How far some work is. Without a total, the bar only moves. */
export function ProgressBar({ progress, label }: { progress: Progress | null; label: string }) {
  const total = progress?.total ?? null
  return (
    <div class="progress">
      <progress
        aria-label={label}
        {...(progress === null || total === null
          ? {}
          : { max: Math.max(1, total), value: progress.done })}
      />
      <span class="soft small number">{textOf(progress)}</span>
    </div>
  )
}

function textOf(progress: Progress | null): string {
  if (progress === null) return ''
  const { done, total, phase } = progress
  const count =
    total === null || total === 0
      ? done.toLocaleString()
      : `${Math.floor((done / total) * 100)} % of ${total.toLocaleString()}`
  return phase === undefined ? count : `${phase}: ${count}`
}
