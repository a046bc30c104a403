import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog'
import { Segments } from '../parts/segments'
import { pendingConfirmation } from '../server/confirmation'
import { useOperation } from '../server/operation'
import { may, session } from '../server/session'
import { LinkForm } from './link-form'
import { type Way, WAYS } from './login'
import { MailForm } from './mail-form'

/** Asks for a fresh login before a secret is shown. */
export function Confirmation() {
  const answer = pendingConfirmation.value
  return answer === null ? null : <Question answer={answer} />
}

interface Server {
  /** The words that run its commands. */
  readonly program: string
  readonly folder: string
}

function Question({ answer }: { answer: (isConfirmed: boolean) => void }) {
  const { email = null, databases = [] } = session.value ?? {}
  const [database = ''] = databases
  const [way, setWay] = useState<Way>(email === null ? 'link' : 'mail')
  const { value } = useOperation<Server>('status', may('status') ? {} : null)
  const command =
    value === undefined
      ? 'satchel admin --confirm'
      : `${value.program} admin --confirm --data ${quote(value.folder)}`
  const onDone = () => answer(true)
  return (
    <Dialog title="Confirm that it is you" onClose={() => answer(false)}>
      <p>Secrets are shown for ten minutes after a fresh login.</p>
      {email !== null && <Segments label="Confirm" choices={WAYS} chosen={way} onChoose={setWay} />}
      {way === 'mail' && email !== null ? (
        <MailForm database={database} known={{ database, email }} action="Go on" onDone={onDone} />
      ) : (
        <LinkForm
          text="On the machine of the server, this command prints a new link:"
          command={command}
          label="Paste it here"
          action="Go on"
          onDone={onDone}
        />
      )}
    </Dialog>
  )
}

/** A path as a shell reads it. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
