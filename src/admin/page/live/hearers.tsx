import { useState } from 'preact/hooks'
import { Text } from '../parts/text'
import type { Heard, Outcome } from './feed'

const MOST = 4

/** A badge per device with how it heard of a commit. */
export function Hearers({ heard }: { heard: readonly Heard[] }) {
  const [isOpen, setIsOpen] = useState(false)
  const shown = isOpen || heard.length <= MOST + 1 ? heard : heard.slice(0, MOST)
  return (
    <div class="hearers">
      {heard.length === 0 && <span class="soft small">no other device</span>}
      {shown.map((each) => (
        <Badge key={`${each.device} ${each.outcome}`} heard={each} />
      ))}
      {shown.length < heard.length && (
        <button class="badge" onClick={() => setIsOpen(true)}>
          +{heard.length - shown.length}
        </button>
      )}
    </div>
  )
}

const WORDS: Readonly<Record<Outcome, (ms: number) => string>> = {
  sent: (ms) => `sent in ${ms < 1 ? '<1' : Math.round(ms)} ms`,
  pull: () => 'told to pull',
  'token-expired': () => 'token expired',
  'not-a-member': () => 'not a member',
  behind: () => 'is behind',
}

const KINDS: Readonly<Record<Outcome, string>> = {
  sent: 'good',
  pull: 'info',
  'token-expired': 'warn',
  'not-a-member': '',
  behind: 'warn',
}

function Badge({ heard }: { heard: Heard }) {
  const { uid, device, outcome, afterMs } = heard
  const words = Object.hasOwn(WORDS, outcome) ? WORDS[outcome](afterMs) : outcome
  return (
    <span class={`badge ${KINDS[outcome] ?? ''}`} title={`${uid}\ndevice ${device}`}>
      <span class="who">
        <Text text={uid.split('@')[0] ?? ''} />
      </span>
      {words}
    </span>
  )
}
