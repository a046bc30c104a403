import type { InvitationPage } from '../../auth/invitation/invitations'
import { escapeHtml, page } from './page'

/** The page that the link of an invitation leads to. It needs no script, no login and no application. */
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
      'You are in',
      `
<p class="sign good" aria-hidden="true">✓</p>
<h1>You are in</h1>
<p><b>${name(subjectOf(shown))}</b> is shared with you as ${name(shown.email)}.</p>
${goOn(
  shown,
  `Log in there as ${name(shown.email)}.`,
  `Open the application and log in as ${name(shown.email)}: it is there.`,
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

/** The account is not named: the holder of the link may be another person. */
function answeredElsewhere(shown: InvitationPage): string {
  const isAccepted = shown.state === 'accepted'
  const title = isAccepted ? 'Accepted already' : 'Declined already'
  const note = `Log in there with the account that ${isAccepted ? 'has accepted' : 'declined, and accept'}.`
  return page(
    title,
    `
<p class="sign quiet" aria-hidden="true">${isAccepted ? '✓' : '–'}</p>
<h1>${title}</h1>
<p><b>${name(subjectOf(shown))}</b> ${isAccepted ? 'is shared' : 'was declined'} with another account than the one that ${name(shown.email)} logs in to.</p>
${goOn(shown, note, 'Open the application, and log in with that one.')}`,
  )
}

/** The subject of the invitation. */
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

/** On to the application; `there` and `nowhere` say what to do with it and without. */
function goOn({ application, originName }: InvitationPage, there: string, nowhere: string): string {
  if (application === null) return `<p class="note">${nowhere}</p>`
  return `<p class="way"><a class="button main" href="${escapeHtml(application)}">Open ${name(originName)}</a></p>
<p class="note">${there}</p>`
}

function row(title: string, content: string): string {
  return content === '' ? '' : `<div><dt>${title}</dt><dd>${content}</dd></div>`
}

/** Text of somebody's, whose direction is its own affair. */
function name(text: string): string {
  return text === '' ? '' : `<bdi>${escapeHtml(text)}</bdi>`
}
