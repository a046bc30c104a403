import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../server/call'
import { isAbort } from '../server/refusal'
import type { Row } from './columns'
import {
  countOf,
  dropFar,
  extend,
  findDropped,
  pageAt,
  type Pages,
  prepend,
  refill,
  withoutArriving,
} from './pages'

export const PAGE = 200
/** Items so near the view are asked for before they are seen. */
const AHEAD = 200

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

interface State<Item> {
  readonly pages: Pages<Item>
  readonly isLoading: boolean
  /** How many objects a search has looked at. */
  readonly seen: number | null
  readonly error: unknown
  /** When the first page was asked for, ms. */
  readonly askedAt: number
}

/** A long list, of which the pages near the view are here, and what goes on with it. */
export interface LongList<Item> extends State<Item> {
  /** True when its end is known. */
  readonly isComplete: boolean
  /** Asks for the missing items near these places, and drops those far from them. */
  readonly see: (first: number, end: number) => void
  readonly loadMore: () => void
  readonly reload: () => void
  /** Asks again for the page of this place, which has so many more items than before. */
  readonly renew: (at: number, by: number) => void
  /** Asks for the items that were put before the first. */
  readonly renewTop: (keyOf: (item: Item) => string) => void
  /** Goes on after an error. */
  readonly retry: () => void
  /** Ends a search, and keeps what it has found. */
  readonly cancel: () => void
}

/** The items of a page are the list with this name. */
interface Page<Item> {
  readonly cursor: string | null
  readonly [list: string]: readonly Item[] | string | null
}

const NONE: State<never> = {
  pages: [],
  isLoading: true,
  seen: null,
  error: undefined,
  askedAt: 0,
}

/** The objects of a table as a user sees them, page by page as they are asked for; null: none. */
export function useRows(query: Query | null) {
  return usePages<Row>('object.listAs', 'objects', query && { ...query, limit: PAGE })
}

/** The items of an operation that lists them as `name`, page by page as they are asked for; null: none. */
export function usePages<Item>(operation: string, name: string, query: object | null) {
  const list = useLongList<Item>(operation, name, query)
  const rows = useMemo(() => list.pages.flatMap(({ items = [] }) => items), [list.pages])
  return { ...list, rows }
}

/** The items of an operation that lists them as `name`, as they come near the view; null: none. */
export function useLongList<Item>(
  operation: string,
  name: string,
  query: object | null,
): LongList<Item> {
  const [state, setState] = useState<State<Item>>(NONE)
  const [turn, setTurn] = useState(0)
  const pages = useRef<Pages<Item>>([])
  /** The places that are looked at. */
  const view = useRef({ first: 0, end: 0 })
  const abort = useRef(new AbortController())
  const isBusy = useRef(false)
  /** The page that is asked for again. */
  const filling = useRef<{ readonly index: number; readonly abort: AbortController } | null>(null)
  const isStopped = useRef(false)
  /** True while the pages are those of the question before, until the first items of this one are here. */
  const isFresh = useRef(true)
  const key = JSON.stringify(query)

  const show = (next: Pages<Item>, more: Partial<State<Item>> = {}) => {
    pages.current = next
    setState((before) => ({ ...before, ...more, pages: next }))
  }

  const load = useCallback(
    async (isFirst: boolean) => {
      isBusy.current = true
      isFresh.current = isFirst
      const { signal } = abort.current
      let base = isFirst ? [] : withoutArriving(pages.current)
      const add = (items: readonly Item[], end?: string | null, more?: Partial<State<Item>>) => {
        if (signal.aborted) return
        isFresh.current = false
        base = extend(base, items, end)
        show(base, more)
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
          { ...query, cursor: base.at(-1)?.end ?? null },
          {
            signal,
            onItem: (item) => add([item as Item]),
            onProgress: ({ done }) => setState((before) => ({ ...before, seen: done })),
          },
        )
        add(page[name] as readonly Item[], page.cursor, { isLoading: false, seen: null })
      } catch (error) {
        if (signal.aborted || isAbort(error)) return
        setState((before) => ({ ...before, isLoading: false, seen: null, error }))
      } finally {
        if (!signal.aborted) isBusy.current = false
      }
    },
    [operation, name, key],
  )

  /** Asks again for a page that was dropped, or that has so many more items than before. */
  const fill = async (index: number, by = 0) => {
    const page = pages.current[index]
    if (page === undefined) return
    const ended = new AbortController()
    filling.current = { index, abort: ended }
    const signal = AbortSignal.any([ended.signal, abort.current.signal])
    const items: Item[] = []
    try {
      const found = await call<Page<Item>>(
        operation,
        { ...query, cursor: page.start, limit: Math.min(PAGE, Math.max(1, page.count + by)) },
        { signal, onItem: (item) => items.push(item as Item) },
      )
      if (signal.aborted) return
      filling.current = null
      items.push(...(found[name] as readonly Item[]))
      const isEnd = isStopped.current && index === pages.current.length - 1
      show(refill(pages.current, index, items, isEnd ? null : found.cursor))
      see(view.current.first, view.current.end)
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      filling.current = null
      setState((before) => ({ ...before, error }))
    }
  }

  const renewTop = async (keyOf: (item: Item) => string) => {
    const { signal } = abort.current
    const items: Item[] = []
    try {
      const found = await call<Page<Item>>(
        operation,
        { ...query, cursor: null },
        { signal, onItem: (item) => items.push(item as Item) },
      )
      if (signal.aborted) return
      items.push(...(found[name] as readonly Item[]))
      const [known] = pages.current[0]?.items ?? []
      const added = items.findIndex((item) => known !== undefined && keyOf(item) === keyOf(known))
      if (added === -1) reload()
      else show(prepend(pages.current, items.slice(0, added)))
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      setState((before) => ({ ...before, error }))
    }
  }

  const see = (first: number, end: number) => {
    view.current = { first, end }
    if (isFresh.current) return
    const kept = dropFar(pages.current, first, end)
    if (kept !== pages.current) show(kept)
    if (state.error !== undefined) return
    const [from, to] = [first - AHEAD, end + AHEAD]
    if (to >= countOf(kept)) loadMore()
    const wanted = findDropped(kept, first, end) ?? findDropped(kept, from, to)
    const current = filling.current && kept[filling.current.index]
    const isNear = current ? current.first < to && current.first + current.count > from : false
    if (wanted === undefined || isNear) return
    filling.current?.abort.abort()
    void fill(wanted)
  }

  const loadMore = () => {
    // The state may be of a time before the last page came: only the pages say whether there is another.
    const isMore = !isFresh.current && pages.current.at(-1)?.end !== null
    if (!isBusy.current && isMore && state.error === undefined) void load(false)
  }

  useEffect(() => {
    abort.current = new AbortController()
    filling.current = null
    isStopped.current = false
    if (query !== null) void load(true)
    return () => abort.current.abort()
  }, [load, turn])

  const reload = () => setTurn((count) => count + 1)
  return {
    ...state,
    isComplete: state.pages.at(-1)?.end === null,
    see,
    loadMore,
    reload,
    // A page that arrives may have been read before the change.
    renew: (at, by) => (isBusy.current ? reload() : void fill(pageAt(pages.current, at), by)),
    renewTop: (keyOf) => (isBusy.current ? reload() : void renewTop(keyOf)),
    retry: () => (isFresh.current ? reload() : setState({ ...state, error: undefined })),
    cancel: () => {
      abort.current.abort()
      abort.current = new AbortController()
      filling.current = null
      isBusy.current = false
      isStopped.current = true
      const found = isFresh.current ? [] : pages.current
      isFresh.current = false
      show(extend(found, [], null), { isLoading: false, seen: null })
    },
  }
}
