import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type CallOptions, type Progress } from './call'
import { isAbort } from './refusal'

/** Work that a person starts, sees the progress of, and may end. */
export interface Task<Output> {
  readonly isBusy: boolean
  readonly progress: Progress | null
  readonly result: Output | undefined
  readonly error: unknown
  /** Resolves when it has ended, however that was. */
  readonly run: (
    operation: string,
    input: object,
    options?: Pick<CallOptions, 'upload'>,
  ) => Promise<void>
  readonly cancel: () => void
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
    const controller = new AbortController()
    abort.current = controller
    setState({ ...IDLE, isBusy: true })
    try {
      const result = await call<Output>(operation, input, {
        ...options,
        signal: controller.signal,
        onProgress: (progress) => setState((before) => ({ ...before, progress })),
      })
      setState({ ...IDLE, result })
    } catch (error) {
      setState({ ...IDLE, error: isAbort(error) ? undefined : error })
    }
  }
  return { ...state, run, cancel: () => abort.current?.abort() }
}

const IDLE = { isBusy: false, progress: null, result: undefined, error: undefined }
