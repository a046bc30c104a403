import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy'
import { Failure } from '../parts/failure'
import { useForm } from '../parts/use-form'
import { linkError, logIn } from '../server/session'
import { readLink } from './link'

/** Logs in, or confirms the session, by the link that a command prints. */
export function LinkForm({
  text,
  command,
  label,
  action,
  onDone,
}: {
  text: string
  command: string
  label: string
  action: string
  onDone?: () => void
}) {
  const [link, setLink] = useState('')
  const form = useForm(async () => {
    linkError.value = undefined
    await logIn({ code: readLink(link) })
    onDone?.()
  })
  return (
    <form class="form" onSubmit={form.submit}>
      <p>{text}</p>
      <div class="command">
        <code>{command}</code>
        <Copy text={command} />
      </div>
      <label>
        <span>{label}</span>
        <input
          autofocus
          value={link}
          autocomplete="off"
          spellcheck={false}
          placeholder={`${location.origin}${location.pathname}#…`}
          onInput={({ currentTarget }) => setLink(currentTarget.value)}
        />
      </label>
      <Failure error={form.error ?? linkError.value} />
      <button class="main" disabled={form.isBusy || link.trim() === ''}>
        {action}
      </button>
    </form>
  )
}
