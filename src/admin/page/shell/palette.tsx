import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog'
import { SERVER_VIEWS } from '../machine/views'
import { Icon, type IconName } from '../parts/icon'
import { Text } from '../parts/text'
import { call } from '../server/call'
import type { Realm } from '../sharing/rows'
import { logOut, may } from '../server/session'
import { databaseNames } from './databases'
import { showHelp } from './help'
import { rank } from './match'
import { openPages } from './pages'
import { chooseDatabase, database, goTo } from './route'
import { nextTheme } from './theme'

const isShown = signal(false)

export function showPalette(): void {
  isShown.value = true
}

interface Goal {
  readonly icon: IconName
  readonly text: string
  readonly kind: string
  readonly run: () => void
}

const MOST = 50
/** So many users, and so many realms. */
const MOST_OF_KIND = 5
const PAUSE_MS = 150

/** Goes to pages and their views, databases, tables, users, realms and keys, by a few letters of their names. */
export function Palette() {
  return isShown.value ? <Opened /> : null
}

function Opened() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const found = useFound(text)
  const goals = useMemo(
    () => [
      ...rank(
        text,
        [...pageGoals(), ...found.tables, ...viewGoals(text), ...otherGoals()],
        ({ text }) => text,
      ),
      ...found.others,
    ],
    [text, found],
  ).slice(0, MOST)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])

  const close = () => (isShown.value = false)
  const run = (goal: Goal | undefined) => {
    if (goal === undefined) return
    close()
    goal.run()
  }
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') run(goals[chosen])
    else if (step !== undefined) setChosen((chosen + step + goals.length) % goals.length || 0)
    else return
    event.preventDefault()
  }

  return (
    <Dialog title="Go to" isBare onClose={close}>
      <div class="palette">
        <label class="palette-input">
          <Icon name="search" />
          <span class="hidden">Page, table, user, realm or key</span>
          <input
            autofocus
            role="combobox"
            aria-expanded="true"
            aria-controls="goals"
            aria-activedescendant={`goal-${chosen}`}
            placeholder="Page, table, user, realm, or table/key"
            value={text}
            onKeyDown={move}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value)
              setChosen(0)
            }}
          />
        </label>
        <ul id="goals" role="listbox" aria-label="Goals" ref={list}>
          {goals.map((goal, at) => (
            <li
              key={`${goal.kind} ${goal.text} ${at}`}
              id={`goal-${at}`}
              role="option"
              aria-selected={at === chosen}
              onPointerMove={() => setChosen(at)}
              onClick={() => run(goal)}
            >
              <Icon name={goal.icon} />
              <span class="clip">
                <Text text={goal.text} />
              </span>
              <span class="soft small">{goal.kind}</span>
            </li>
          ))}
        </ul>
        {goals.length === 0 && <p class="soft palette-none">Nothing has this name.</p>}
      </div>
    </Dialog>
  )
}

function pageGoals(): Goal[] {
  return openPages().map(({ name, title, icon }) => {
    return { icon, text: title, kind: 'page', run: () => goTo(name) }
  })
}

/** They are no choice until a name is typed: the page has them. */
function viewGoals(text: string): Goal[] {
  if (text.trim() === '') return []
  const views = SERVER_VIEWS.filter(([, , needs]) => may('status') && may(needs))
  return views.map(([name, title]) => {
    return { icon: 'server', text: title, kind: 'Server', run: () => goTo('server', name) }
  })
}

function otherGoals(): Goal[] {
  const others = databaseNames.value.filter((name) => name !== database.value)
  return [
    ...others.map((name): Goal => {
      return { icon: 'database', text: name, kind: 'database', run: () => chooseDatabase(name) }
    }),
    { icon: 'moon', text: 'Change the colours', kind: 'action', run: nextTheme },
    { icon: 'help', text: 'List the keys', kind: 'action', run: showHelp },
    { icon: 'out', text: 'Log out', kind: 'action', run: () => void logOut() },
  ]
}

interface Found {
  readonly tables: readonly Goal[]
  readonly others: readonly Goal[]
}

/** Tables of the database, users and realms that match, and the object of `table/key`. */
function useFound(text: string): Found {
  const [tables, setTables] = useState<readonly Goal[]>([])
  const [others, setOthers] = useState<readonly Goal[]>([])
  useEffect(() => {
    if (!may('table.list')) return
    call<readonly { name: string }[]>('table.list', { database: database.value }).then(
      (list) =>
        setTables(
          list.map(({ name }) => {
            return { icon: 'data', text: name, kind: 'table', run: () => goTo('data', name) }
          }),
        ),
      () => undefined,
    )
  }, [])
  useEffect(() => {
    setOthers([])
    if (text.trim().length < 2) return undefined
    const abort = new AbortController()
    const timer = setTimeout(() => {
      findOthers(text.trim(), abort.signal).then(setOthers, () => undefined)
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  return useMemo(() => ({ tables, others }), [tables, others])
}

async function findOthers(text: string, signal: AbortSignal): Promise<Goal[]> {
  const slash = text.indexOf('/')
  if (slash > 0) {
    const [table, key] = [text.slice(0, slash), text.slice(slash + 1)]
    return [{ icon: 'data', text, kind: 'object', run: () => goTo('data', table, key) }]
  }
  const found = await Promise.all([findUsers(text, signal), findRealms(text, signal)])
  return found.flat()
}

async function findUsers(search: string, signal: AbortSignal): Promise<Goal[]> {
  if (!may('user.list')) return []
  const query = new URLSearchParams({ search, limit: String(MOST_OF_KIND) }).toString()
  const input = { database: database.value, query }
  const { data } = await call<{ data: readonly { userId: string }[] }>('user.list', input, {
    signal,
  })
  return data.map(({ userId }) => {
    return { icon: 'people', text: userId, kind: 'user', run: () => goTo('people', userId) }
  })
}

async function findRealms(search: string, signal: AbortSignal): Promise<Goal[]> {
  if (!may('realm.list')) return []
  const input = { database: database.value, limit: MOST_OF_KIND, search }
  const { realms } = await call<{ realms: readonly Realm[] }>('realm.list', input, { signal })
  return realms.map(({ realm, name }) => {
    return {
      icon: 'sharing',
      text: name || realm,
      kind: 'realm',
      run: () => goTo('sharing', realm),
    }
  })
}
