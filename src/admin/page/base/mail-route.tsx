import { useState } from 'preact/hooks'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { useTask } from '../server/task'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'

interface Route {
  readonly to: string
  readonly from: string
  /** False when the settings of the server decide. */
  readonly isOwn: boolean
}

/** How mails are sent, and a mail to try it. */
export function MailRoute() {
  const input = { database: database.value }
  const { value, error } = useOperation<Route | null>('mail.show', input)
  const test = useTask<unknown>()
  const [to, setTo] = useState('')
  const [kind, setKind] = useState('otp')
  return (
    <section class="part box">
      <h2>Sending mails</h2>
      <Failure error={error} />
      {value === null && (
        <p class="soft small">
          No mail server is set: in development, mails are shown on the page Mail and in the
          terminal.
        </p>
      )}
      {value !== undefined && value !== null && (
        <Facts>
          <Fact name="To">{value.to}</Fact>
          <Fact name="From">{value.from}</Fact>
          <Fact name="Set for">
            {value.isOwn ? 'this database' : 'all databases of the server'}
          </Fact>
        </Facts>
      )}
      {may('mail.test') && !isReadOnly.value && (
        <form
          class="fields-row"
          onSubmit={(event) => {
            event.preventDefault()
            void test.run('mail.test', { ...input, to: to.trim(), kind })
          }}
        >
          <input
            required
            type="email"
            aria-label="Address"
            placeholder="you@example.com"
            value={to}
            onInput={({ currentTarget }) => setTo(currentTarget.value)}
          />
          <select
            aria-label="Kind of mail"
            value={kind}
            onChange={({ currentTarget }) => setKind(currentTarget.value)}
          >
            <option value="otp">a login code</option>
            <option value="invite">an invitation</option>
          </select>
          <button disabled={test.isBusy}>Send a test mail</button>
        </form>
      )}
      <Failure error={test.error} />
      {test.result !== undefined && <p class="good-text">It was sent.</p>}
    </section>
  )
}
