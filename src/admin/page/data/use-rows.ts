import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../server/call'
import { isAbort } from '../server/refusal'
import type { Row } from './columns'

export const PAGE = 200

/** The question whose answer a table shows. */
export interface Query {
  readonly database: string
  readonly table: string
  readonly newestFirst: boolean
  readonly search?: string
  readonly filter?: string
  readonly prefix?: string
  /** As this user sees it, in the order of creation. */
  readonly user?: string
}

export interface Rows {
  readonly rows: readonly Row[]
  readonly isLoading: boolean
  /** How many objects a search has looked at. */
  readonly seen: number | null
  /** True when all objects are here. */
  readonly isComplete: boolean
  readonly error: unknown
  /** When the first page was asked for, ms. */
  readonly askedAt: number
}

interface Page {
  readonly objects: readonly Row[]
  readonly cursor: string | null
}

const NONE: Rows = {
  rows: [],
  isLoading: true,
  seen: null,
  isComplete: false,
  error: undefined,
  askedAt: 0,
}

/** The objects of a table, page by page as they are needed; null: none. */
export function useRows(query: Query | null) {
  const [state, setState] = useState<Rows>(NONE)
  const [turn, setTurn] = useState(0)
  const cursor = useRef<string | null>(null)
  const abort = useRef(new AbortController())
  const isBusy = useRef(false)
  const key = JSON.stringify(query)

  const load = useCallback(
    async (isFirst: boolean) => {
      isBusy.current = true
      const { signal } = abort.current
      // The rows of the page before stay until the first ones of the next are here.
      let isFresh = isFirst
      const add = (objects: readonly Row[], more: Partial<Rows>) => {
        const drops = isFresh
        isFresh = false
        setState((before) => ({
          ...before,
          ...more,
          rows: drops ? objects : [...before.rows, ...objects],
        }))
      }
      setState((before) => ({
        ...before,
        isLoading: true,
        seen: null,
        error: undefined,
        ...(isFirst ? { askedAt: Date.now() } : {}),
      }))
      try {
        const page = await call<Page>(
          query?.user === undefined ? 'object.list' : 'object.listAs',
          { ...query, limit: PAGE, cursor: isFirst ? null : cursor.current },
          {
            signal,
            onItem: (item) => add([item as Row], {}),
            onProgress: ({ done }) => setState((before) => ({ ...before, seen: done })),
          },
        )
        cursor.current = page.cursor
        add(page.objects, { isLoading: false, seen: null, isComplete: page.cursor === null })
      } catch (error) {
        if (signal.aborted || isAbort(error)) return
        setState((before) => ({ ...before, isLoading: false, seen: null, error }))
      } finally {
        if (!signal.aborted) isBusy.current = false
      }
    },
    [key],
  )

  useEffect(() => {
    abort.current = new AbortController()
    if (query !== null) void load(true)
    return () => abort.current.abort()
  }, [load, turn])

  return {
    ...state,
    loadMore: () => {
      if (!isBusy.current && !state.isComplete && state.error === undefined) void load(false)
    },
    reload: () => setTurn((count) => count + 1),
    /** Ends a search, and keeps what it has found. */
    cancel: () => {
      abort.current.abort()
      abort.current = new AbortController()
      isBusy.current = false
      setState((before) => ({ ...before, isLoading: false, seen: null, isComplete: true }))
    },
  }
}
