import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { moveByArrows } from '../parts/arrow-keys'
import { Icon, type IconName } from '../parts/icon'
import { isReachable } from '../server/request'
import { logOut, session } from '../server/session'
import { databaseNames } from './databases'
import { showHelp } from './help'
import { useShortcut } from './keys'
import { showPalette } from './palette'
import { openPages, type PageInfo } from './pages'
import { chooseDatabase, database, hrefOf, place } from './route'
import { nextTheme, theme, type Theme } from './theme'

/** On narrow screens the list is over the page, and closed at first. */
const isOpen = signal(false)

export function Sidebar() {
  const opener = useRef<HTMLButtonElement>(null)
  const close = () => (isOpen.value = false)
  const closeByKey = () => {
    close()
    opener.current?.focus()
  }
  useShortcut('Escape', 'Close the list of pages', closeByKey, isOpen.value)
  return (
    <>
      <header class="bar">
        <button
          ref={opener}
          class="plain"
          aria-label="Pages"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <Icon name="menu" />
        </button>
        <span class="bar-title" dir="auto">
          {database.value || 'Satchel'}
        </span>
        <button class="plain" aria-label="Search" onClick={showPalette}>
          <Icon name="search" />
        </button>
      </header>
      {isOpen.value && <div class="veil" onClick={close} />}
      <aside class={`sidebar ${isOpen.value ? 'open' : ''}`}>
        <div class="brand">
          <img src={iconAddress()} alt="" width="24" height="24" />
          <span>Satchel</span>
          {session.value?.isReadOnly && <span class="chip">read only</span>}
        </div>
        <DatabaseChooser />
        <button class="search-button" onClick={showPalette}>
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>{/Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'} K</kbd>
        </button>
        <Pages />
        <Foot />
      </aside>
    </>
  )
}

function iconAddress(): string {
  return document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? ''
}

function DatabaseChooser() {
  const names = databaseNames.value
  return (
    <label class="chooser">
      <Icon name="database" />
      <span class="hidden">Database</span>
      <select
        value={database.value}
        onChange={({ currentTarget }) => chooseDatabase(currentTarget.value)}
      >
        {!names.includes(database.value) && (
          <option value={database.value}>{database.value || 'No database'}</option>
        )}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <Icon name="chevron" />
    </label>
  )
}

function Pages() {
  const pages = openPages()
  const groups = [...new Set(pages.map(({ group }) => group))]
  const current = place.value.page || pages[0]?.name
  return (
    <nav aria-label="Pages" class="pages" onKeyDown={moveByArrows}>
      {groups.map((group) => (
        <section key={group} aria-label={group}>
          <h2>{group}</h2>
          {pages
            .filter((page) => page.group === group)
            .map((page) => (
              <PageLink key={page.name} page={page} isCurrent={page.name === current} />
            ))}
        </section>
      ))}
    </nav>
  )
}

function PageLink({ page, isCurrent }: { page: PageInfo; isCurrent: boolean }) {
  return (
    <a
      href={hrefOf(page.name)}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={() => (isOpen.value = false)}
    >
      <Icon name={page.icon} />
      {page.title}
    </a>
  )
}

const THEME_ICONS: Readonly<Record<Theme, IconName>> = {
  system: 'screen',
  light: 'sun',
  dark: 'moon',
}

function Foot() {
  return (
    <footer class="foot">
      <div class={`state ${isReachable.value ? 'good' : 'bad'}`} role="status">
        <span class="dot" />
        {isReachable.value ? 'Connected' : 'The server does not answer'}
      </div>
      {session.value && (
        <div class="soft small clip" title={session.value.scopes.join(', ')}>
          {session.value.email ?? 'Owner of the data folder'}
        </div>
      )}
      <div class="foot-buttons">
        <button
          class="plain"
          title={`Colours: ${theme.value} (t)`}
          aria-label={`Colours: ${theme.value}`}
          onClick={nextTheme}
        >
          <Icon name={THEME_ICONS[theme.value]} />
        </button>
        <button class="plain" title="Keys (?)" aria-label="Keys" onClick={showHelp}>
          <Icon name="help" />
        </button>
        <a
          class="plain"
          title="Guides"
          aria-label="Guides"
          href="docs"
          target="_blank"
          rel="noopener"
        >
          <Icon name="files" />
        </a>
        <button class="plain" title="Log out" aria-label="Log out" onClick={() => void logOut()}>
          <Icon name="out" />
        </button>
      </div>
    </footer>
  )
}
