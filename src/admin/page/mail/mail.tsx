import { useEffect, useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { moveByArrows } from '../parts/arrow-keys'
import { copyText } from '../parts/clipboard'
import { Copy } from '../parts/copy'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database, goTo, place } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { MailPanel } from './mail-panel'
import type { MailInfo, MailList } from './mail-info'

const EVERY_MS = 500

/** The last mails, with their codes where the server tells them: in development and in test mode. */
export function Mail() {
  const [text, setText] = useState('')
  const { value, error, reload } = useOperation<MailList>(
    'mail.list',
    { database: database.value },
    { every: EVERY_MS },
  )
  const mails = (value?.mails ?? []).filter((mail) => matches(mail, text))
  const newest = mails.find(({ otpState }) => otpState === 'open')
  const [chosen] = place.value.rest
  useShortcut('c', 'Copy the newest code', () => void copyCode(newest), newest !== undefined)
  useMoving(mails, chosen)
  return (
    <div class={`split ${chosen === undefined ? '' : 'with-panel'}`}>
      <section class="fill">
        <PageHead title="Mail" about="The last mails of this database">
          <SearchField label="Address or code" value={text} onInput={setText} />
        </PageHead>
        <Failure error={error} onAgain={reload} />
        {value !== undefined && value.mails.length === 0 && <NoMail />}
        {value?.isShown === false && value.mails.length > 0 && (
          <p class="hint soft small">
            {isReadOnly.value
              ? 'A login that only reads sees no codes and no contents: a reader of mails could log in as anybody.'
              : 'Codes and contents are shown in development and in test mode only: a reader of mails could log in as anybody.'}
          </p>
        )}
        {newest !== undefined && <NewestCode mail={newest} />}
        {mails.length > 0 && (
          <ul class="list" aria-label="Mails" onKeyDown={moveByArrows}>
            {mails.map((mail) => (
              <MailRow key={mail.id} mail={mail} isChosen={mail.id === chosen} />
            ))}
          </ul>
        )}
        {value !== undefined && value.mails.length > 0 && mails.length === 0 && (
          <p class="soft feed-none">No mail matches.</p>
        )}
      </section>
      {chosen !== undefined && (
        <MailPanel
          key={chosen}
          id={chosen}
          listed={value?.mails.find(({ id }) => id === chosen)}
          onChange={reload}
          onClose={() => goTo('mail')}
        />
      )}
    </div>
  )
}

function matches({ to, subject, otp, kind }: MailInfo, text: string): boolean {
  const wanted = text.trim().toLowerCase()
  return [to, subject, otp, kind].some((each) => each?.toLowerCase().includes(wanted) === true)
}

async function copyCode(mail: MailInfo | undefined): Promise<void> {
  if (mail === undefined || mail.otp === null) return
  await copyText(mail.otp)
  tellDone(`The code for ${mail.to} was copied`)
}

/** The keys j and k go to the next mail and the one before. */
function useMoving(mails: readonly MailInfo[], chosen: string | undefined): void {
  const at = mails.findIndex(({ id }) => id === chosen)
  const move = (step: number) => {
    const next = mails[Math.min(Math.max(0, at + step), mails.length - 1)]
    if (next !== undefined) goTo('mail', next.id)
  }
  useShortcut('j', 'Next mail', () => move(1))
  useShortcut('k', 'Mail before', () => move(-1))
}

/** A mail with a code comes into the place of the one before. */
function NewestCode({ mail }: { mail: MailInfo }) {
  const [isNew, setIsNew] = useState(false)
  useEffect(() => {
    setIsNew(true)
    const timer = setTimeout(() => setIsNew(false), 1_500)
    return () => clearTimeout(timer)
  }, [mail.id])
  return (
    <div class={`code-card ${isNew ? 'new' : ''}`} aria-live="polite">
      <div class="clip">
        <div class="code">
          <Text text={mail.otp ?? ''} />
        </div>
        <div class="soft clip">
          for <Text text={mail.to} />,{' '}
          <span aria-live="off">
            <Ago at={mail.at} />
          </span>
        </div>
      </div>
      <span class="code-copy">
        <kbd title="This key copies it">c</kbd>
        <Copy text={mail.otp ?? ''} label="Copy the code" />
      </span>
    </div>
  )
}

const STATES: Readonly<Record<string, string>> = { failed: 'bad', waiting: 'warn', sent: 'good' }

function MailRow({ mail, isChosen }: { mail: MailInfo; isChosen: boolean }) {
  const { id, kind, to, at, state, subject, otp, otpState } = mail
  return (
    <li class={isChosen ? 'chosen' : ''}>
      <button class="list-row" aria-pressed={isChosen} onClick={() => goTo('mail', id)}>
        <span class="list-main">
          <span class="clip">
            <Text text={to} />
          </span>
          <span class="clip soft small">{subject === null ? kind : <Text text={subject} />}</span>
        </span>
        {otp !== null && (
          <code class="code-small">
            <Text text={otp} most={40} />
          </code>
        )}
        {otpState !== null && otpState !== 'open' && <span class="badge">{otpState}</span>}
        <span class={`badge ${STATES[state] ?? ''}`}>{state}</span>
        <span class="list-time soft small">
          <Ago at={at} />
        </span>
      </button>
    </li>
  )
}

function NoMail() {
  return (
    <Empty icon="mail" title="No mail since the server started">
      <p>
        The code of a person who logs in appears here within a second, and so do invitations to
        share. Without a mail server no mail leaves this machine.{' '}
        <a href="docs/login" target="_blank" rel="noopener">
          Log people in
        </a>
      </p>
    </Empty>
  )
}
