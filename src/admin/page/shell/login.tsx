import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon'
import { Copy } from '../parts/copy'
import { logIn, loginError, requestOtp } from '../server/session'
import { sentenceOf } from '../server/refusal'
import { readLink } from './link'
import { database as chosenDatabase } from './route'

type Way = 'link' | 'mail'

/** The two ways to log in: a one-time link of the command, or a code by mail for people with a client. */
export function Login({ isAgain = false }: { isAgain?: boolean }) {
  const [way, setWay] = useState<Way>('link')
  return (
    <div class="login">
      {!isAgain && (
        <>
          <h1>Satchel</h1>
          <p class="soft">The page for administrators of this server.</p>
        </>
      )}
      <div class="segments" role="group" aria-label="Log in">
        <button aria-pressed={way === 'link'} onClick={() => setWay('link')}>
          With a link
        </button>
        <button aria-pressed={way === 'mail'} onClick={() => setWay('mail')}>
          With a code by mail
        </button>
      </div>
      {way === 'link' ? <ByLink isAgain={isAgain} /> : <ByMail />}
    </div>
  )
}

/** A page that goes on takes the link itself: one that opens it is another page. */
function ByLink({ isAgain }: { isAgain: boolean }) {
  const command = isAgain ? 'satchel admin' : 'satchel admin --open'
  const [text, setText] = useState('')
  const form = useForm(() => logIn({ code: readLink(text) }))
  return (
    <form class="form" onSubmit={form.submit}>
      <p>
        {isAgain
          ? 'On the machine of the server, this command prints a link:'
          : 'On the machine of the server, this command opens the page logged in:'}
      </p>
      <div class="command">
        <code>{command}</code>
        <Copy text={command} />
      </div>
      <label>
        <span>{isAgain ? 'Paste it here' : 'Or paste the link that satchel admin prints'}</span>
        <input
          value={text}
          autocomplete="off"
          spellcheck={false}
          placeholder={`${location.origin}${location.pathname}#…`}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <FormError error={form.error ?? loginError.value} />
      <button class="main" disabled={form.isBusy || text.trim() === ''}>
        Log in
      </button>
    </form>
  )
}

function ByMail() {
  const [database, setDatabase] = useState(chosenDatabase.value)
  const [email, setEmail] = useState('')
  const [otp, setOtp] = useState('')
  const [isSent, setIsSent] = useState(false)
  const form = useForm(async () => {
    if (isSent) await logIn({ database, email, otp: otp.trim() })
    else {
      await requestOtp(database, email)
      setIsSent(true)
    }
  })
  return (
    <form class="form" onSubmit={form.submit}>
      <p>For addresses that own a client of a database (dexie-cloud authorize).</p>
      <label>
        <span>Database</span>
        <input
          required
          value={database}
          autocomplete="off"
          disabled={isSent}
          onInput={({ currentTarget }) => setDatabase(currentTarget.value)}
        />
      </label>
      <label>
        <span>E-mail address</span>
        <input
          required
          type="email"
          value={email}
          autocomplete="email"
          disabled={isSent}
          onInput={({ currentTarget }) => setEmail(currentTarget.value)}
        />
      </label>
      {isSent && (
        <label>
          <span>Code</span>
          <input
            required
            autofocus
            class="code-input"
            value={otp}
            autocomplete="one-time-code"
            onInput={({ currentTarget }) => setOtp(currentTarget.value)}
          />
          <small class="soft">If the address has a client, a code is on its way.</small>
        </label>
      )}
      <FormError error={form.error} />
      <button class="main" disabled={form.isBusy}>
        {isSent ? 'Log in' : 'Send a code'}
      </button>
      {isSent && (
        <button type="button" onClick={() => setIsSent(false)}>
          Another address
        </button>
      )}
    </form>
  )
}

function FormError({ error }: { error: string | null }) {
  if (error === null) return null
  return (
    <p class="form-error" role="alert">
      <Icon name="alert" />
      <span>{error}</span>
    </p>
  )
}

function useForm(work: () => Promise<void>) {
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    setIsBusy(true)
    setError(null)
    work()
      .catch((error: unknown) => setError(sentenceOf(error)))
      .finally(() => setIsBusy(false))
  }
  return { isBusy, error, submit }
}
