import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog'
import { Failure } from './failure'

/** A dialog with fields, an action, and the reason when that was refused. The caller closes it. */
export function FormDialog({
  title,
  action,
  onSubmit,
  onClose,
  isWide = false,
  children,
}: {
  title: string
  action: string
  onSubmit: () => Promise<unknown>
  onClose: () => void
  isWide?: boolean
  children: ComponentChildren
}) {
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setIsBusy] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    setIsBusy(true)
    setError(undefined)
    onSubmit()
      .catch(setError)
      .finally(() => setIsBusy(false))
  }
  return (
    <Dialog title={title} isWide={isWide} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {children}
        <Failure error={error} />
        <div class="actions">
          <button class="main" disabled={isBusy}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
