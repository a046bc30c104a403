import { useState } from 'preact/hooks'
import { Segments } from '../parts/segments'
import { LinkForm } from './link-form'
import { MailForm } from './mail-form'
import { database } from './route'

/** The two ways to prove that it is you. */
export const WAYS = [
  ['link', 'With a link'],
  ['mail', 'With a code by mail'],
] as const
export type Way = (typeof WAYS)[number][0]

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
      <Segments label="Log in" choices={WAYS} chosen={way} onChoose={setWay} />
      {way === 'mail' ? (
        <MailForm database={database.value} action="Log in" />
      ) : (
        <LinkForm {...(isAgain ? AGAIN : FIRST)} action="Log in" />
      )}
    </div>
  )
}

const FIRST = {
  text: 'On the machine of the server, this command opens the page logged in:',
  command: 'satchel admin --open',
  label: 'Or paste the link that satchel admin prints',
}

/** A page that goes on takes the link itself: one that opens it is another page. */
const AGAIN = {
  text: 'On the machine of the server, this command prints a link:',
  command: 'satchel admin',
  label: 'Paste it here',
}
