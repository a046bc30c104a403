import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Copy } from '../parts/copy'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { Panel } from '../parts/panel'
import { Segments } from '../parts/segments'
import { visible } from '../parts/visible'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { MailFrame } from './mail-frame'
import type { MailInfo, WholeMail } from './mail-info'

type Form = 'text' | 'html' | 'raw'

/** One mail: its code, its link, and its contents. */
export function MailPanel({
  id,
  listed,
  onChange,
  onClose,
}: {
  id: string
  /** As the list has it now; undefined: it is not there. */
  listed: MailInfo | undefined
  onChange: () => void
  onClose: () => void
}) {
  const input = { database: database.value, id }
  // A mail that waits has its contents when it is sent.
  const version = listed?.state === 'waiting' ? 0 : 1
  const { value, error } = useOperation<WholeMail>('mail.read', input, { version })
  const mail = value && { ...value, ...listed }
  const retry = async () => {
    await call('mail.retry', input)
    tellDone('It is tried again now')
    onChange()
  }
  const remove = async () => {
    await call('mail.delete', input)
    onChange()
    onClose()
  }
  const isWriting = !isReadOnly.value
  return (
    <Panel title={mail?.subject ?? mail?.kind ?? 'Mail'} onClose={onClose}>
      <Failure error={error} />
      {mail !== undefined && (
        <>
          {mail.otp !== null && (
            <div class="code-card">
              {mail.otpState !== 'open' && <span class="badge">{mail.otpState}</span>}
              <div class="code">
                <Text text={mail.otp} />
              </div>
              <Copy text={mail.otp} label="Copy the code" />
            </div>
          )}
          <Facts>
            <Fact name="To">
              <Text text={mail.to} />
            </Fact>
            <Fact name="State">
              {mail.state} <Ago at={mail.at} />
              {mail.attempts > 1 && `, ${mail.attempts} attempts`}
            </Fact>
            {mail.link !== null && <MailLink link={mail.link} />}
          </Facts>
          {mail.failure !== null && <Failure error={mail.failure} />}
          {isWriting && (
            <div class="actions">
              {mail.state === 'waiting' && may('mail.retry') && (
                <button onClick={() => void retry().catch(tellError)}>Send it now</button>
              )}
              {may('mail.delete') && (
                <button onClick={() => void remove().catch(tellError)}>Delete</button>
              )}
            </div>
          )}
          <Contents mail={mail} />
        </>
      )}
    </Panel>
  )
}

function MailLink({ link }: { link: string }) {
  const isSafe = /^https?:\/\//.test(link)
  return (
    <Fact name="Link">
      {isSafe ? (
        <a href={link} target="_blank" rel="noopener noreferrer">
          <Text text={link} />
        </a>
      ) : (
        <Text text={link} />
      )}
      <Copy text={link} label="Copy the link" />
    </Fact>
  )
}

function Contents({ mail }: { mail: WholeMail }) {
  const [form, setForm] = useState<Form>('text')
  const choices = [
    ['text', 'Text'],
    ...(mail.html ? ([['html', 'HTML']] as const) : []),
    ...(mail.raw ? ([['raw', 'Source']] as const) : []),
  ] as const
  const text = form === 'raw' ? mail.raw : mail.text
  if (mail.text === null) {
    return <p class="soft small">The contents of this mail are not shown.</p>
  }
  return (
    <>
      {choices.length > 1 && (
        <Segments label="Form" choices={choices} chosen={form} onChoose={setForm} />
      )}
      {form === 'html' ? (
        <MailFrame operation="mail.read" input={{ database: database.value, id: mail.id }} />
      ) : (
        <pre class="mail-text" tabIndex={0} role="region" aria-label="Contents">
          {visible(text ?? '')}
        </pre>
      )}
    </>
  )
}
