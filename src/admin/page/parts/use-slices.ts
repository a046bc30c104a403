import { useEffect, useMemo, useState } from 'preact/hooks'
import { firstSlice, inSlices, type Steps } from './slices'

/** The result of long work, again for other inputs: at once when that is quick, else undefined until it is there. */
export function useSlices<T>(make: () => Steps<T>, inputs: readonly unknown[]): T | undefined {
  const made = useMemo(() => firstSlice(make()), inputs)
  const [, setTurn] = useState(0)
  useEffect(() => {
    if (made.result !== undefined) return undefined
    const abort = new AbortController()
    const finish = async () => {
      made.result = { value: await inSlices(made.work, abort.signal) }
      setTurn((turn) => turn + 1)
    }
    finish().catch(() => undefined)
    return () => abort.abort()
  }, [made])
  return made.result?.value
}
