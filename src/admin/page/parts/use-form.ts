import { useEffect, useRef, useState } from 'preact/hooks'
import { isAbort } from '../server/refusal'
import { tellError } from '../shell/toasts'

/** The work of a form, which runs once at a time, with the reason when it was refused: a toast when the form is gone. */
export function useForm(work: () => Promise<unknown>) {
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setIsBusy] = useState(false)
  const isGone = useRef(false)
  useEffect(() => () => void (isGone.current = true), [])
  const refuse = (reason: unknown) => {
    if (!isGone.current) setError(reason)
    else if (!isAbort(reason)) tellError(reason)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    setIsBusy(true)
    setError(undefined)
    work()
      .catch(refuse)
      .finally(() => setIsBusy(false))
  }
  return { error, isBusy, submit }
}
