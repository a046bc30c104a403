import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type Progress } from './call'
import { isPersonHere } from './presence'
import { isAbort, isPassing } from './refusal'

/** The output of an operation that only reads, as far as it is known. */
export interface Loaded<Output> {
  /** That of the last input with an answer, while the next answer is awaited. */
  readonly value: Output | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly progress: Progress | undefined
  readonly reload: () => void
}

const AGAIN_MS = 2_000

/**
 * Runs an operation that only reads, again for each other input and each other `version` of what it is about; null: not at
 * all. With `every` (ms) it runs again and again while a person is at the page, each time after the answer before.
 */
export function useOperation<Output>(
  operation: string,
  input: object | null,
  { every, version }: { readonly every?: number; readonly version?: number | undefined } = {},
): Loaded<Output> {
  const key = input === null ? null : JSON.stringify(input)
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<Omit<Loaded<Output>, 'reload'>>(NOTHING)
  const asked = useRef(input)
  asked.current = input
  /** The call under way. */
  const current = useRef<AbortController | null>(null)

  useEffect(() => {
    if (key === null) {
      setState(NOTHING)
      return undefined
    }
    const abort = new AbortController()
    const settle = () => {
      if (current.current === abort) current.current = null
    }
    current.current = abort
    let timer: ReturnType<typeof setTimeout> | undefined
    setState((before) => ({ ...before, isLoading: true, progress: undefined }))
    const answer = call<Output>(operation, asked.current ?? {}, {
      isRead: true,
      signal: abort.signal,
      onProgress: (progress) => setState((before) => ({ ...before, progress })),
    })
    answer.finally(settle).then(
      (value) => setState({ value, error: undefined, isLoading: false, progress: undefined }),
      (error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return
        setState((before) => ({ ...before, error, isLoading: false, progress: undefined }))
        // It comes back by itself when the server does.
        if (isPassing(error)) {
          timer = setTimeout(() => setTurn((count) => count + 1), AGAIN_MS)
        }
      },
    )
    return () => {
      clearTimeout(timer)
      settle()
      abort.abort()
    }
  }, [operation, key, version, turn])

  useEffect(() => {
    if (every === undefined) return undefined
    const timer = setInterval(() => {
      if (current.current === null && isPersonHere()) setTurn((count) => count + 1)
    }, every)
    return () => clearInterval(timer)
  }, [every])

  return { ...state, reload: () => setTurn((count) => count + 1) }
}

const NOTHING = { value: undefined, error: undefined, isLoading: false, progress: undefined }
