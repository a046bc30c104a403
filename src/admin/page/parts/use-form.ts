import { useState } from 'preact/hooks'

/** The work of a form, which runs once at a time, with the reason when it was refused. */
export function useForm(work: () => Promise<unknown>) {
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setIsBusy] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    setIsBusy(true)
    setError(undefined)
    work()
      .catch(setError)
      .finally(() => setIsBusy(false))
  }
  return { error, isBusy, submit }
}
