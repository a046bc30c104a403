import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy'
import { Dialog } from '../parts/dialog'
import { pendingConfirmation } from '../server/confirmation'
import { useOperation } from '../server/operation'
import { logIn, may } from '../server/session'
import { readLink } from './link'
import { tellError } from './toasts'

/** Asks for a fresh login before a secret is shown. */
export function Confirmation() {
  const answer = pendingConfirmation.value
  return answer === null ? null : <Question answer={answer} />
}

function Question({ answer }: { answer: (isConfirmed: boolean) => void }) {
  const [text, setText] = useState('')
  const { value } = useOperation<{ readonly folder: string }>('status', may('status') ? {} : null)
  const command = `satchel admin --confirm${value === undefined ? '' : ` --data ${quote(value.folder)}`}`
  const submit = async () => {
    await logIn({ code: readLink(text) })
    setText('')
    answer(true)
  }
  return (
    <Dialog title="Confirm that it is you" onClose={() => answer(false)}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          submit().catch(tellError)
        }}
      >
        <p>
          Secrets are shown for ten minutes after a fresh login. This command prints a new link:
        </p>
        <div class="command">
          <code>{command}</code>
          <Copy text={command} />
        </div>
        <label>
          <span>Paste it here</span>
          <input
            autofocus
            required
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button class="main">Go on</button>
          <button type="button" onClick={() => answer(false)}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A path as a shell reads it. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
