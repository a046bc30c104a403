import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { database, place } from './route'
import { openPages, type PageInfo } from './pages'
import { Empty } from '../parts/empty'
import { Text } from '../parts/text'

/** The page that the address names, or the first one. */
export function PageView() {
  const pages = openPages()
  const page = pages.find(({ name }) => name === place.value.page) ?? pages[0]
  return (
    <main id="main" class="page" tabIndex={-1}>
      {page === undefined ? (
        <Empty icon="key" title="This login may not see anything">
          Its client lacks the scopes GLOBAL_READ and MANAGE_DB.
        </Empty>
      ) : (
        <Loading key={`${page.name} ${database.value}`} page={page} />
      )}
    </main>
  )
}

function Loading({ page }: { page: PageInfo }) {
  const [View, setView] = useState<ComponentType | null>(null)
  const [hasFailed, setHasFailed] = useState(false)
  const [error, again] = useErrorBoundary()
  useEffect(() => {
    document.title = `${page.title} · ${database.value || 'Satchel'}`
    page.load().then(
      (view) => setView(() => view),
      () => setHasFailed(true),
    )
  }, [page])
  if (error !== undefined) {
    return (
      <Empty icon="alert" title="This page has failed">
        <p>
          <Text text={String(error)} />
        </p>
        <button onClick={again}>Try again</button>
      </Empty>
    )
  }
  if (hasFailed) {
    return (
      <Empty icon="reload" title="This part of the page could not be loaded">
        The server may be another version now.{' '}
        <button class="link" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Empty>
    )
  }
  return View === null ? <div class="loading-page" aria-busy="true" /> : <View />
}
