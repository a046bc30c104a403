import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type CallOptions, type Progress } from './call'
import { isAbort } from './refusal'

/** Work that a person starts, sees the progress of, and may end. */
export interface Task<Output> {
  readonly isBusy: boolean
  readonly progress: Progress | null
  readonly result: Output | undefined
  readonly error: unknown
  /** Ends the run before. Resolves when it has ended, however that was. */
  readonly run: (
    operation: string,
    input: object,
    options?: Pick<CallOptions, 'upload'>,
  ) => Promise<void>
  readonly cancel: () => void
  /** Ends a run, and forgets its outcome. */
  readonly clear: () => void
}

interface State<Output> {
  readonly isBusy: boolean
  readonly progress: Progress | null
  readonly result: Output | undefined
  readonly error: unknown
}

/** The task of a component, which ends with it. */
export function useTask<Output>(): Task<Output> {
  const [state, setState] = useState<State<Output>>(IDLE)
  const abort = useRef<AbortController | null>(null)
  useEffect(() => () => abort.current?.abort(), [])
  const run: Task<Output>['run'] = async (operation, input, options = {}) => {
    abort.current?.abort()
    const controller = new AbortController()
    abort.current = controller
    const settle = (next: State<Output>) => {
      if (abort.current === controller) setState(next)
    }
    setState({ ...IDLE, isBusy: true })
    try {
      const result = await call<Output>(operation, input, {
        ...options,
        signal: controller.signal,
        onProgress: (progress) => settle({ ...IDLE, isBusy: true, progress }),
      })
      settle({ ...IDLE, result })
    } catch (error) {
      settle({ ...IDLE, error: isAbort(error) ? undefined : error })
    }
  }
  const cancel = () => abort.current?.abort()
  const clear = () => {
    cancel()
    abort.current = null
    setState(IDLE)
  }
  return { ...state, run, cancel, clear }
}

const IDLE = { isBusy: false, progress: null, result: undefined, error: undefined }
