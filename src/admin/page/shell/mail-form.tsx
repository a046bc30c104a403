import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { useForm } from '../parts/use-form'
import { logIn, requestOtp } from '../server/session'

/** The owner of a client of a database. */
export interface Owner {
  readonly database: string
  readonly email: string
}

/** Logs in, or confirms the session, by a code that is mailed to the owner of a client, who may be known. */
export function MailForm({
  database: chosen,
  known,
  action,
  onDone,
}: {
  database: string
  known?: Owner | undefined
  action: string
  onDone?: () => void
}) {
  const [typed, setTyped] = useState<Owner>({ database: chosen, email: '' })
  const { database, email } = known ?? typed
  const [otp, setOtp] = useState('')
  const [isSent, setIsSent] = useState(false)
  const codeField = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => codeField.current?.focus(), [isSent])
  const form = useForm(async () => {
    if (!isSent) {
      await requestOtp(database, email)
      setIsSent(true)
      return
    }
    await logIn({ database, email, otp: otp.trim() })
    onDone?.()
  })
  return (
    <form class="form" onSubmit={form.submit}>
      {known === undefined ? (
        <>
          <p>For addresses that own a client of a database (dexie-cloud authorize).</p>
          <label>
            <span>Database</span>
            <input
              required
              value={database}
              autocomplete="off"
              disabled={isSent}
              onInput={({ currentTarget }) => setTyped({ email, database: currentTarget.value })}
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
              onInput={({ currentTarget }) => setTyped({ database, email: currentTarget.value })}
            />
          </label>
        </>
      ) : (
        <p>
          A code is mailed to <Text text={email} />.
        </p>
      )}
      {isSent && (
        <label>
          <span>Code</span>
          <input
            required
            ref={codeField}
            class="code-input"
            value={otp}
            autocomplete="one-time-code"
            onInput={({ currentTarget }) => setOtp(currentTarget.value)}
          />
          <small class="soft">
            {known === undefined
              ? 'If the address has a client, a code is on its way.'
              : 'A code is on its way.'}
          </small>
        </label>
      )}
      <Failure error={form.error} />
      <button class="main" disabled={form.isBusy}>
        {isSent ? action : 'Send a code'}
      </button>
      {isSent && (
        <button
          type="button"
          onClick={() => {
            setIsSent(false)
            setOtp('')
          }}
        >
          {known === undefined ? 'Another address' : 'Another code'}
        </button>
      )}
    </form>
  )
}
