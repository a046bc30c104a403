import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
import { useShortcut } from '../shell/keys'
import { Connect } from './connect'
import { EntryRow } from './entry'
import { matches } from './feed'
import { clear, failure, feed, isPaused, state, togglePause, waitingCount } from './following'

/** A line per commit, with the devices that heard of it, and per rejected write. */
export function Live() {
  const [text, setText] = useState('')
  const [onlyRejected, setOnlyRejected] = useState(false)
  useShortcut(' ', 'Pause and go on', togglePause)
  useShortcut('r', 'Only rejected writes', () => setOnlyRejected((before) => !before))
  const { entries, devices } = feed.value
  const shown = entries.filter((entry) => matches(entry, text, onlyRejected))
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
      <Failure error={failure.value} />
      {entries.length === 0 ? (
        <Connect />
      ) : (
        <ol class="feed" aria-label="Changes" tabIndex={0}>
          {shown.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
          {shown.length === 0 && <li class="feed-none soft">No line matches.</li>}
        </ol>
      )}
    </div>
  )
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
