import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog'
import { Failure } from './failure'
import { useForm } from './use-form'

/** A dialog with fields, an action, and the reason when that was refused. The caller closes it. */
export function FormDialog({
  title,
  action,
  onSubmit,
  onClose,
  isWide = false,
  isDanger = false,
  isReady = true,
  children,
}: {
  title: string
  action: string
  onSubmit: () => Promise<unknown>
  onClose: () => void
  isWide?: boolean
  /** The action cannot be taken back. */
  isDanger?: boolean
  /** False while the action is not possible. */
  isReady?: boolean
  children: ComponentChildren
}) {
  const { error, isBusy, submit } = useForm(onSubmit)
  return (
    <Dialog title={title} isWide={isWide} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {children}
        <Failure error={error} />
        <div class="actions">
          <button class={isDanger ? 'danger' : 'main'} disabled={isBusy || !isReady}>
            {action}
          </button>
          <button type="button" autofocus={isDanger && isReady} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
