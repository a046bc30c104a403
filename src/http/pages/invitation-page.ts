import type { InvitationPage } from '../../auth/invitation/invitations'
import { escapeHtml, page } from './page'

/** The page that the link in an invitation opens. It needs no script, no login and no application. */
export function invitationPage(shown: InvitationPage): string {
  return (shown.isAnothers ? answeredElsewhere : PAGES[shown.state])(shown)
}

const PAGES: Readonly<Record<InvitationPage['state'], (shown: InvitationPage) => string>> = {
  open: (shown) =>
    page(
      'You are invited',
      `
<p class="sign" aria-hidden="true">${escapeHtml(initialOf(shown))}</p>
<p class="lead">${shown.inviterName === '' ? 'You are invited' : `${name(shown.inviterName)} invites you`} to</p>
<h1>${name(subjectOf(shown))}</h1>
<dl>
  ${row('From', from(shown))}
  ${row('In', name(shown.originName))}
  ${row('For', name(shown.email))}
</dl>
<form method="post">
  <button class="main" name="answer" value="accept">Accept</button>
  <button name="answer" value="reject">Decline</button>
</form>
<p class="note">Nothing is shared until you accept. If you do not know the sender, decline or close this page.</p>`,
    ),

  accepted: (shown) =>
    page(
      'You have joined',
      `
<p class="sign good" aria-hidden="true">✓</p>
<h1>You have joined</h1>
<p><b>${name(subjectOf(shown))}</b> is shared with you as ${name(shown.email)}.</p>
${applicationLink(
  shown,
  `Log in there as ${name(shown.email)}.`,
  `Open the application and log in as ${name(shown.email)}.`,
)}`,
    ),

  rejected: (shown) =>
    page(
      'You have declined',
      `
<p class="sign quiet" aria-hidden="true">–</p>
<h1>You have declined</h1>
<p><b>${name(subjectOf(shown))}</b> is not shared with you. Have you changed your mind?</p>
<form class="way" method="post">
  <button name="answer" value="accept">Accept after all</button>
</form>`,
    ),
}

/** The other account is not named, because anyone with the link can open this page. */
function answeredElsewhere(shown: InvitationPage): string {
  const isAccepted = shown.state === 'accepted'
  const title = isAccepted ? 'Already accepted' : 'Already declined'
  const note = isAccepted
    ? 'Log in there with the account that accepted.'
    : 'Log in there with the account that declined, and accept.'
  return page(
    title,
    `
<p class="sign quiet" aria-hidden="true">${isAccepted ? '✓' : '–'}</p>
<h1>${title}</h1>
<p><b>${name(subjectOf(shown))}</b> ${isAccepted ? 'is shared' : 'was declined'} with a different account than the one of ${name(shown.email)}.</p>
${applicationLink(shown, note, 'Open the application and log in with that account.')}`,
  )
}

/** The name of the shared realm, or of the application. */
function subjectOf({ realmName, originName }: InvitationPage): string {
  return realmName || originName
}

function initialOf(shown: InvitationPage): string {
  const [first] = [...new Intl.Segmenter().segment(shown.inviterName || subjectOf(shown))]
  return first === undefined ? '' : first.segment.toUpperCase()
}

function from({ inviterName, inviterEmail }: InvitationPage): string {
  if (inviterEmail === '' || inviterEmail === inviterName) return name(inviterName)
  return `${name(inviterName)}<br><span class="soft">${name(inviterEmail)}</span>`
}

/** A link to the application with a note, or another note when its address is unknown. */
function applicationLink(
  { application, originName }: InvitationPage,
  note: string,
  noteWithout: string,
): string {
  if (application === null) return `<p class="note">${noteWithout}</p>`
  return `<p class="way"><a class="button main" href="${escapeHtml(application)}">Open ${name(originName)}</a></p>
<p class="note">${note}</p>`
}

function row(title: string, content: string): string {
  return content === '' ? '' : `<div><dt>${title}</dt><dd>${content}</dd></div>`
}

/** A name in a `bdi` element: its text direction does not affect the rest. */
function name(text: string): string {
  return text === '' ? '' : `<bdi>${escapeHtml(text)}</bdi>`
}
