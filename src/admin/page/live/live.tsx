import type { TargetedEvent } from 'preact'
import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
import { useShortcut } from '../shell/keys'
import { Connect } from './connect'
import { EntryRow } from './entry'
import { type Entry, matches } from './feed'
import {
  clear,
  failure,
  feed,
  isPaused,
  state,
  togglePause,
  tryAgain,
  waitingCount,
} from './following'

/** A line per commit, with the devices that heard of it, and per rejected write. */
export function Live() {
  const [text, setText] = useState('')
  const [onlyRejected, setOnlyRejected] = useState(false)
  useShortcut(' ', 'Pause and go on', togglePause)
  useShortcut('r', 'Only rejected writes', () => setOnlyRejected((before) => !before))
  const { entries, devices } = feed.value
  const shown = entries.filter((entry) => matches(entry, text, onlyRejected))
  const { drawn, onScroll } = useDrawn(shown)
  return (
    <div class="fill">
      <PageHead title="Live" about={<Status devices={devices.size} />}>
        <SearchField label="User, table or key" value={text} onInput={setText} />
        <button aria-pressed={onlyRejected} onClick={() => setOnlyRejected(!onlyRejected)}>
          Rejected
        </button>
        <button title="Space" aria-pressed={isPaused.value} onClick={togglePause}>
          <Icon name={isPaused.value ? 'play' : 'pause'} />
          {isPaused.value
            ? `Go on${waitingCount.value > 0 ? ` (${waitingCount.value})` : ''}`
            : 'Pause'}
        </button>
        <button disabled={entries.length === 0} onClick={clear}>
          Clear
        </button>
      </PageHead>
      <Failure error={failure.value} onAgain={tryAgain} />
      {entries.length === 0 ? (
        <Connect />
      ) : (
        <ol class="feed" aria-label="Changes" tabIndex={0} onScroll={onScroll}>
          {drawn.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
          {shown.length === 0 && <li class="feed-none soft">No line matches.</li>}
        </ol>
      )}
    </div>
  )
}

/** So many lines are drawn, and so many more each time that their end is near. */
const DRAWN = 60
/** The end is near below this, px. */
const NEAR = 600

/** All lines at once would take a busy machine a second for each new one: the rest is drawn when it is scrolled to. */
function useDrawn(shown: readonly Entry[]) {
  /** The last line that is drawn; undefined while the newest one is in view. */
  const [last, setLast] = useState<number>()
  const count = last === undefined ? DRAWN : shown.findLastIndex(({ id }) => id >= last) + 1
  return {
    drawn: shown.slice(0, Math.max(DRAWN, count)),
    onScroll: ({ currentTarget: list }: TargetedEvent<HTMLElement>) => {
      const { scrollTop, scrollHeight, clientHeight } = list
      const isNear = scrollHeight - scrollTop - clientHeight < NEAR
      if (scrollTop === 0) setLast(undefined)
      else if (isNear || last === undefined) {
        setLast(
          shown[Math.min(shown.length, Math.max(DRAWN, count) + (isNear ? DRAWN : 0)) - 1]?.id,
        )
      }
    },
  }
}

const STATES = { connecting: 'Connecting…', following: 'Following', cut: 'Cut, trying again…' }

function Status({ devices }: { devices: number }) {
  const current = state.value
  return (
    <span class={`state ${current === 'following' ? 'good pulse' : 'waits'}`} role="status">
      <span class="dot" />
      {STATES[current]}
      {devices > 0 && ` · ${devices} ${devices === 1 ? 'device is' : 'devices are'} connected`}
    </span>
  )
}
