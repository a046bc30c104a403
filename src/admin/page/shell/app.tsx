import { useEffect } from 'preact/hooks'
import { Confirmation } from './confirmation'
import { Destroying } from './destroy'
import { Help, showHelp } from './help'
import { useShortcut } from './keys'
import { Login } from './login'
import { watchLogins } from './other-logins'
import { PageView } from './page-view'
import { Palette, showPalette } from './palette'
import { loadPages, openPages } from './pages'
import { chooseDatabase, database, goTo } from './route'
import { Sidebar } from './sidebar'
import { nextTheme } from './theme'
import { tellError, Toasts } from './toasts'
import { databaseNames } from './databases'
import { hasEnded, linkError, session } from '../server/session'
import { Dialog } from '../parts/dialog'

/** The whole page: the login, or the pages with the list of them at the side. */
export function App() {
  if (session.value === undefined) return <main class="splash" aria-busy="true" />
  if (session.value === null && !hasEnded.value) {
    return (
      <>
        <main class="card-page">
          <Login />
        </main>
        <Toasts />
      </>
    )
  }
  return (
    <>
      <Desk />
      {session.value === null && (
        <Dialog title="Your session has ended" isLasting>
          <p class="soft">
            The page is as you left it, and goes on after a new login. A restart of the server ends
            sessions, too.
          </p>
          <Login isAgain />
        </Dialog>
      )}
      <Toasts />
    </>
  )
}

/** After the first page, which is to be there at once. */
const LOAD_AFTER_MS = 1_500

function Desk() {
  const names = databaseNames.value
  useEffect(() => {
    const [name] = names
    if (database.value === '' && name !== undefined) chooseDatabase(name)
  }, [names, database.value])

  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      showPalette()
    }
    document.addEventListener('keydown', open)
    return () => document.removeEventListener('keydown', open)
  }, [])
  useEffect(() => {
    const timer = setTimeout(loadPages, LOAD_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  useEffect(watchLogins, [])
  useEffect(() => {
    if (session.value && linkError.value !== undefined) tellError(linkError.value)
  }, [session.value, linkError.value])
  useShortcut('?', 'List the keys', showHelp)
  useShortcut('t', 'Change the colours', nextTheme)

  return (
    <div class="desk">
      <a class="skip" href="#main" onClick={skipToMain}>
        To the content
      </a>
      {openPages().map(({ name, title, letter }) => (
        <PageKey key={name} name={name} title={title} letter={letter} />
      ))}
      <Sidebar />
      <PageView />
      <Palette />
      <Help />
      <Destroying />
      <Confirmation />
    </div>
  )
}

function PageKey({ name, title, letter }: { name: string; title: string; letter: string }) {
  useShortcut(`g ${letter}`, title, () => goTo(name))
  return null
}

/** The fragment is the address of a page, so that the link sets the focus itself. */
function skipToMain(event: Event) {
  event.preventDefault()
  document.getElementById('main')?.focus()
}
