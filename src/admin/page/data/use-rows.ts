import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../server/call'
import { isAbort, isPassing } from '../server/refusal'
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
const AGAIN_MS = 2_000

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
  /** How many items were put before the first one, in all. */
  readonly added: number
}

/** A long list, of which the pages near the view are here, and what goes on with it. */
export interface LongList<Item> extends State<Item> {
  /** True when its end is known: not while the pages are those of the question before. */
  readonly isComplete: boolean
  /** True when there is another page, which can be asked for now. */
  readonly isMore: boolean
  /** Asks for the missing items near these places, and drops those far from them. */
  readonly see: (first: number, end: number) => void
  readonly loadMore: () => void
  readonly reload: () => void
  /** Asks again for the page of this place, which has so many more items than before. */
  readonly renew: (at: number, by: number) => void
  /** Asks for the items that were put before the first. */
  readonly renewTop: (keyOf: (item: Item) => string) => void
  /** Asks again for the page that failed. */
  readonly retry: () => void
  /** Ends a search, and keeps what it has found. */
  readonly cancel: () => void
}

/** How an operation takes and gives its list page by page. */
export interface Paging {
  /** The name of the list in an answer. */
  readonly list: string
  readonly inputOf: (query: Fields, cursor: string | null) => object
  /** The cursor of the next page; null: there is none. */
  readonly cursorOf: (answer: Fields) => string | null
}

type Fields = Readonly<Record<string, unknown>>

/** With the name of the list alone, its operation takes and gives a `cursor`. */
function pagingOf(paging: string | Paging): Paging {
  if (typeof paging !== 'string') return paging
  return {
    list: paging,
    inputOf: (query, cursor) => ({ ...query, cursor }),
    cursorOf: ({ cursor }) => cursor as string | null,
  }
}

const NONE: State<never> = {
  pages: [],
  isLoading: true,
  seen: null,
  error: undefined,
  askedAt: 0,
  added: 0,
}

interface WholePage<Item> {
  readonly items: readonly Item[]
  readonly cursor: string | null
}

/** A page of the list of an operation, with the items that were emitted before. */
async function readPage<Item>(
  operation: string,
  paging: string | Paging,
  input: object,
  signal: AbortSignal,
): Promise<WholePage<Item>> {
  const { list, cursorOf } = pagingOf(paging)
  const items: Item[] = []
  const page = await call<Fields>(operation, input, {
    signal,
    onItem: (item) => items.push(item as Item),
    onRestart: () => (items.length = 0),
  })
  return { items: [...items, ...(page[list] as readonly Item[])], cursor: cursorOf(page) }
}

/** The objects of a table as a user sees them, page by page as they are asked for; null: none. */
export function useRows(query: Query | null) {
  return usePages<Row>('object.listAs', 'objects', query && { ...query, limit: PAGE })
}

/** A list of which all is here that was asked for. */
export interface PagedList<Item> extends LongList<Item> {
  readonly rows: readonly Item[]
}

/** The list of an operation, page by page as it is asked for; null: none. */
export function usePages<Item>(
  operation: string,
  paging: string | Paging,
  query: object | null,
): PagedList<Item> {
  const list = useLongList<Item>(operation, paging, query)
  const rows = useMemo(() => list.pages.flatMap(({ items = [] }) => items), [list.pages])
  return { ...list, rows }
}

/** The list of an operation, of which the items come that are near the view; null: none. */
export function useLongList<Item>(
  operation: string,
  paging: string | Paging,
  query: object | null,
): LongList<Item> {
  const { list, inputOf, cursorOf } = pagingOf(paging)
  const [state, setState] = useState<State<Item>>(NONE)
  const [turn, setTurn] = useState(0)
  const pages = useRef<Pages<Item>>([])
  /** The places that are looked at; null: nothing is dropped. */
  const view = useRef<{ readonly first: number; readonly end: number } | null>(null)
  const abort = useRef(new AbortController())
  const isBusy = useRef(false)
  /** The page that is asked for again. */
  const filling = useRef<{ readonly index: number; readonly abort: AbortController } | null>(null)
  const isStopped = useRef(false)
  /** True while the pages are those of the question before, until the first items of this one are here. */
  const isFresh = useRef(true)
  const key = JSON.stringify(query)
  /** The question whose answer the pages are. */
  const answered = useRef<string | null>(null)
  /** Asks again after an error. */
  const again = useRef(() => {})

  const show = (next: Pages<Item>, more: Partial<State<Item>> = {}) => {
    pages.current = next
    answered.current = key
    setState((before) => ({ ...before, ...more, pages: next }))
  }

  const load = useCallback(
    async (isFirst: boolean) => {
      isBusy.current = true
      isFresh.current = isFirst
      const { signal } = abort.current
      /** True until the first item of the page is shown, in the place of those of an attempt before. */
      let isNew = true
      const complete = () => (isFirst ? [] : withoutArriving(pages.current))
      const add = (items: readonly Item[], end?: string | null, more?: Partial<State<Item>>) => {
        if (signal.aborted) return
        const base = isNew ? complete() : pages.current
        isNew = false
        isFresh.current = false
        show(extend(base, items, end), more)
      }
      setState((before) => ({
        ...before,
        isLoading: true,
        seen: null,
        error: undefined,
        ...(isFirst ? { askedAt: Date.now() } : {}),
      }))
      try {
        const page = await call<Fields>(
          operation,
          inputOf({ ...query }, complete().at(-1)?.end ?? null),
          {
            signal,
            onItem: (item) => add([item as Item]),
            onRestart: () => (isNew = true),
            onProgress: ({ done }) => setState((before) => ({ ...before, seen: done })),
          },
        )
        add(page[list] as readonly Item[], cursorOf(page), { isLoading: false, seen: null })
      } catch (error) {
        if (signal.aborted || isAbort(error)) return
        again.current = () => {
          if (!isBusy.current) void load(false)
        }
        const failed = { isLoading: false, seen: null, error }
        // An answer to the question before is none to this one.
        if (answered.current !== key) show([], failed)
        else setState((before) => ({ ...before, ...failed }))
      } finally {
        if (!signal.aborted) isBusy.current = false
      }
    },
    [operation, paging, key],
  )

  /** Asks again for a page that was dropped, or that has so many more items than before. */
  const fill = async (index: number, by = 0) => {
    const page = pages.current[index]
    if (page === undefined) return
    filling.current?.abort.abort()
    const ended = new AbortController()
    filling.current = { index, abort: ended }
    const signal = AbortSignal.any([ended.signal, abort.current.signal])
    const limit = Math.min(PAGE, Math.max(1, page.count + by))
    try {
      const asked = inputOf({ ...query, limit }, page.start)
      const { items, cursor } = await readPage<Item>(operation, paging, asked, signal)
      if (signal.aborted) return
      filling.current = null
      const isLast = index === withoutArriving(pages.current).length - 1
      // The page that arrives was asked for where this one does not end any more.
      if (isBusy.current && isLast && cursor !== page.end) return reload()
      const isEnd = isStopped.current && index === pages.current.length - 1
      show(refill(pages.current, index, items, isEnd ? null : cursor))
      if (view.current !== null) return see(view.current.first, view.current.end)
      // A list without a view has all of its items here.
      const dropped = findDropped(pages.current, 0, Infinity)
      if (dropped !== undefined) void fill(dropped)
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      filling.current = null
      again.current = () => void fill(index, by)
      setState((before) => ({ ...before, error }))
    }
  }

  const renewTop = async (keyOf: (item: Item) => string) => {
    const { signal } = abort.current
    try {
      const asked = inputOf({ ...query }, null)
      const { items } = await readPage<Item>(operation, paging, asked, signal)
      if (signal.aborted) return
      const [known] = pages.current[0]?.items ?? []
      const added = items.findIndex((item) => known !== undefined && keyOf(item) === keyOf(known))
      if (added === -1) reload()
      else {
        show(prepend(pages.current, items.slice(0, added)))
        setState((before) => ({ ...before, added: before.added + added }))
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      again.current = () => void renewTop(keyOf)
      setState((before) => ({ ...before, error }))
    }
  }

  const see = (first: number, end: number) => {
    view.current = { first, end }
    if (isFresh.current || answered.current !== key) return
    const kept = dropFar(pages.current, first, end)
    if (kept !== pages.current) show(kept)
    if (state.error !== undefined) return
    const [from, to] = [first - AHEAD, end + AHEAD]
    if (to >= countOf(kept)) loadMore()
    const wanted = findDropped(kept, first, end) ?? findDropped(kept, from, to)
    const current = filling.current && kept[filling.current.index]
    const isNear = current ? current.first < to && current.first + current.count > from : false
    // A page that was not dropped is read again for a change, which would be lost.
    const isNeeded = isNear || current?.items !== undefined
    if (wanted !== undefined && !isNeeded) void fill(wanted)
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
  const retry = () => {
    if (isFresh.current) return reload()
    setState((before) => ({ ...before, error: undefined }))
    again.current()
  }
  useEffect(() => {
    if (!isPassing(state.error)) return undefined
    // The list comes back by itself when the server does.
    const timer = setTimeout(retry, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [state.error])
  const renew = (at: number, by: number) => {
    const index = pageAt(pages.current, at)
    const other = filling.current?.index === index ? undefined : filling.current?.index
    const isRenewing = other !== undefined && pages.current[other]?.items !== undefined
    // A page that arrives may have been read before the change.
    if (isBusy.current || isRenewing) reload()
    else void fill(index, by)
  }
  const end = answered.current === key ? state.pages.at(-1)?.end : undefined
  return {
    ...state,
    isComplete: end === null,
    isMore: typeof end === 'string' && !state.isLoading && state.error === undefined,
    see,
    loadMore,
    reload,
    renew,
    renewTop: (keyOf) => (isBusy.current ? reload() : void renewTop(keyOf)),
    retry,
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
