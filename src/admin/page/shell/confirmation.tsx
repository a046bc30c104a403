import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy'
import { Dialog } from '../parts/dialog'
import { pendingConfirmation } from '../server/confirmation'
import { logIn } from '../server/session'
import { readLink } from './link'
import { tellError } from './toasts'

/** Asks for a fresh login before a secret is shown. */
export function Confirmation() {
  const [text, setText] = useState('')
  const answer = pendingConfirmation.value
  if (answer === null) return null
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
          <code>satchel admin --confirm</code>
          <Copy text="satchel admin --confirm" />
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
