import type { ComponentChildren } from 'preact'
import type { Task } from '../server/task'
import { Failure } from './failure'
import { ProgressBar } from './progress-bar'

/** The progress of a task, the way to stop it, and its outcome. */
export function TaskView<Output>({
  task: { isBusy, progress, result, error, cancel },
  label,
  mayStop = true,
  children,
}: {
  task: Task<Output>
  /** What it does: `Verifying`. */
  label: string
  mayStop?: boolean
  children?: (result: Output) => ComponentChildren
}) {
  return (
    <>
      {isBusy && (
        <div class="task">
          <ProgressBar progress={progress} label={label} />
          {mayStop && (
            <button type="button" class="small-button" onClick={cancel}>
              Stop
            </button>
          )}
        </div>
      )}
      <Failure error={error} />
      {result !== undefined && children?.(result)}
    </>
  )
}
