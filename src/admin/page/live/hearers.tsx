import { useState } from 'preact/hooks'
import { Text } from '../parts/text'
import { visible } from '../parts/visible'
import type { Delivery, HeardEvent } from '../../../host/live-event'

const MOST = 4

/** A badge per device with how it heard of a commit. */
export function Hearers({ heard }: { heard: readonly HeardEvent[] }) {
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

/** The words of a badge, and its colour. */
const OUTCOMES: Readonly<Record<Delivery, readonly [words: (ms: number) => string, kind: string]>> =
  {
    sent: [(ms) => `sent in ${ms < 1 ? '<1' : Math.round(ms)} ms`, 'good'],
    answered: [() => 'in the answer', 'good'],
    'told-to-pull': [() => 'told to pull', 'info'],
    behind: [() => 'is behind', 'warn'],
    'token-expired': [() => 'token expired', 'warn'],
    refused: [() => 'refused', 'bad'],
    'not-a-member': [() => 'not a member', ''],
    nothing: [() => 'not concerned', ''],
  }

function Badge({ heard }: { heard: HeardEvent }) {
  const { uid, device, outcome, afterMs } = heard
  const [words, kind] = OUTCOMES[outcome]
  return (
    <span class={`badge ${kind}`} title={visible(`${uid ?? 'nobody'}\ndevice ${device}`)}>
      <span class="who">
        <Text text={uid?.split('@')[0] ?? 'nobody'} />
      </span>
      {words(afterMs)}
    </span>
  )
}
