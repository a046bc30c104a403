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

export interface Rows<Item = Row> {
  readonly rows: readonly Item[]
  readonly isLoading: boolean
  /** How many objects a search has looked at. */
  readonly seen: number | null
  /** True when all objects are here. */
  readonly isComplete: boolean
  readonly error: unknown
  /** When the first page was asked for, ms. */
  readonly askedAt: number
}

/** Rows as they are here, and what goes on with them. */
export interface Pages<Item> extends Rows<Item> {
  readonly loadMore: () => void
  readonly reload: () => void
  /** Ends a search, and keeps what it has found. */
  readonly cancel: () => void
}

/** The items of a page are the list with this name. */
interface Page<Item> {
  readonly cursor: string | null
  readonly [list: string]: readonly Item[] | string | null
}

const NONE: Rows<never> = {
  rows: [],
  isLoading: true,
  seen: null,
  isComplete: false,
  error: undefined,
  askedAt: 0,
}

/** The objects of a table, page by page as they are needed; null: none. */
export function useRows(query: Query | null): Pages<Row> {
  const operation = query?.user === undefined ? 'object.list' : 'object.listAs'
  return usePages<Row>(operation, 'objects', query && { ...query, limit: PAGE })
}

/** The items of an operation that lists them as `name`, page by page as they are needed; null: none. */
export function usePages<Item>(operation: string, name: string, query: object | null): Pages<Item> {
  const [state, setState] = useState<Rows<Item>>(NONE)
  const [turn, setTurn] = useState(0)
  /** The beginning of the next page; null while none is known, and when all objects are here. */
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
      const add = (items: readonly Item[], more: Partial<Rows<Item>>) => {
        if (signal.aborted) return
        const drops = isFresh
        isFresh = false
        setState((before) => ({
          ...before,
          ...more,
          rows: drops ? items : [...before.rows, ...items],
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
        const page = await call<Page<Item>>(
          operation,
          { ...query, cursor: isFirst ? null : cursor.current },
          {
            signal,
            onItem: (item) => add([item as Item], {}),
            onProgress: ({ done }) => setState((before) => ({ ...before, seen: done })),
          },
        )
        if (signal.aborted) return
        cursor.current = page.cursor
        add(page[name] as readonly Item[], {
          isLoading: false,
          seen: null,
          isComplete: page.cursor === null,
        })
      } catch (error) {
        if (signal.aborted || isAbort(error)) return
        setState((before) => ({ ...before, isLoading: false, seen: null, error }))
      } finally {
        if (!signal.aborted) isBusy.current = false
      }
    },
    [operation, name, key],
  )

  useEffect(() => {
    abort.current = new AbortController()
    cursor.current = null
    if (query !== null) void load(true)
    return () => abort.current.abort()
  }, [load, turn])

  return {
    ...state,
    loadMore: () => {
      // The state may be of a time before the last page came: only the cursor says whether there is another.
      if (!isBusy.current && cursor.current !== null && state.error === undefined) void load(false)
    },
    reload: () => setTurn((count) => count + 1),
    cancel: () => {
      abort.current.abort()
      abort.current = new AbortController()
      cursor.current = null
      isBusy.current = false
      setState((before) => ({ ...before, isLoading: false, seen: null, isComplete: true }))
    },
  }
}
