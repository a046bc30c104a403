import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Snippet } from '../parts/snippet'
import { useTask } from '../server/task'
import { database } from '../shell/route'

/** Logs a user in without a code: for an application of a test. */
export function LoginBox() {
  const [email, setEmail] = useState('alice@example.com')
  const [page, setPage] = useState('')
  const login = useTask<{ accessToken: string; url?: string }>()
  const input = { database: database.value, email, page: page === '' ? null : page }
  return (
    <section class="part box">
      <h2>Log in as</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void login.run('test.login', input)
        }}
      >
        <label>
          <span>User</span>
          <input
            required
            value={email}
            onInput={({ currentTarget }) => setEmail(currentTarget.value)}
          />
        </label>
        <label>
          <span>Address of the application</span>
          <input
            type="url"
            placeholder="http://localhost:5173/"
            value={page}
            onInput={({ currentTarget }) => setPage(currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button disabled={login.isBusy}>Log in</button>
        </div>
      </form>
      <Failure error={login.error} />
      {login.result?.url !== undefined && (
        <Snippet label="Open the application here" text={login.result.url} />
      )}
      {login.result !== undefined && (
        <Snippet label="Access token" text={login.result.accessToken} />
      )}
    </section>
  )
}
