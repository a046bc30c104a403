import { signal } from '@preact/signals'
import { Dialog } from '../parts/dialog'
import { shortcuts } from './keys'

const isShown = signal(false)

export function showHelp(): void {
  isShown.value = true
}

/** The keys that work on the page that is open. */
export function Help() {
  if (!isShown.value) return null
  const isGo = ({ keys }: { keys: string }) => keys.startsWith('g ')
  const all = shortcuts.value
  return (
    <Dialog title="Keys" isWide onClose={() => (isShown.value = false)}>
      <div class="keys">
        <section>
          <h3>Here</h3>
          <dl>
            <KeyRow keys="Ctrl k" text="Go anywhere" />
            {all
              .filter((each) => !isGo(each))
              .map(({ keys, text }) => (
                <KeyRow key={keys} keys={keys} text={text} />
              ))}
            <KeyRow keys="ArrowUp ArrowDown" text="Move in lists and tables" />
            <KeyRow keys="Enter" text="Open" />
            <KeyRow keys="Escape" text="Close a panel or a dialog" />
          </dl>
        </section>
        <section>
          <h3>Go to</h3>
          <dl>
            {all.filter(isGo).map(({ keys, text }) => (
              <KeyRow key={keys} keys={keys} text={text} />
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  )
}

const SHOWN: Readonly<Record<string, string>> = {
  ' ': 'Space',
  Escape: 'Esc',
  ArrowDown: '↓',
  ArrowUp: '↑',
}

function KeyRow({ keys, text }: { keys: string; text: string }) {
  const parts = keys === ' ' ? [keys] : keys.split(' ')
  return (
    <div>
      <dt>
        {parts.map((part) => (
          <kbd key={part}>{SHOWN[part] ?? part}</kbd>
        ))}
      </dt>
      <dd>{text}</dd>
    </div>
  )
}
