import type { MailKind, MailTemplate } from '../domain/mailer'
import { quoted, SatchelError } from '../domain/error'
import type { ReadTx, WriteTx } from '../domain/store'
import inviteHtml from './email-templates/invite-body-html.handlebars' with { type: 'text' }
import inviteText from './email-templates/invite-body-txt.handlebars' with { type: 'text' }
import inviteSubject from './email-templates/invite-subject.handlebars' with { type: 'text' }
import otpHtml from './email-templates/otp-body-html.handlebars' with { type: 'text' }
import otpText from './email-templates/otp-body-txt.handlebars' with { type: 'text' }
import otpSubject from './email-templates/otp-subject.handlebars' with { type: 'text' }
import { compile, findMistake } from './handlebars'

/** The words of a mail. */
export interface Wording {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** The templates that come with the program, by the names of the clients' files (protocol.md §13.2). */
const BUILT_IN: ReadonlyMap<string, string> = new Map([
  ['otp-subject', otpSubject],
  ['otp-body-txt', otpText],
  ['otp-body-html', otpHtml],
  ['invite-subject', inviteSubject],
  ['invite-body-txt', inviteText],
  ['invite-body-html', inviteHtml],
])

export const TEMPLATE_NAMES: readonly string[] = [...BUILT_IN.keys()]

const MAX_BYTES = 128 * 1024

export interface ListedTemplate extends MailTemplate {
  /** True when the database words it itself. */
  readonly isOwn: boolean
}

/** All of them, as this database words them. */
export async function listTemplates(tx: ReadTx): Promise<ListedTemplate[]> {
  const own = await ownTemplates(tx)
  return [...BUILT_IN].map(([id, content]) => {
    return { id, content: own.get(id) ?? content, isOwn: own.has(id) }
  })
}

/** Throws `UNPROCESSABLE` for a name that is none. */
export async function getTemplate(tx: ReadTx, id: string): Promise<ListedTemplate> {
  requireName(id)
  const templates = await listTemplates(tx)
  return templates.find((template) => template.id === id)!
}

/**
 * What `id` may be set to: a template that can be filled in. Throws `UNPROCESSABLE` with the place of
 * the first mistake.
 */
export async function requireTemplate(id: string, content: string): Promise<MailTemplate> {
  requireName(id)
  const mistake =
    Buffer.byteLength(content) > MAX_BYTES
      ? `it has more than ${MAX_BYTES} bytes`
      : await findMistake(content)
  if (mistake === undefined) return { id, content }
  throw new SatchelError('UNPROCESSABLE', `The template ${id} cannot be used: ${mistake}`)
}

/** From now on the built-in words are used. False when they were. Throws `UNPROCESSABLE`. */
export async function resetTemplate(tx: WriteTx, id: string): Promise<boolean> {
  requireName(id)
  return await tx.mailTemplates.remove(id)
}

/** The words of a mail of this kind, filled in. */
export async function wordMail(
  templates: readonly MailTemplate[],
  kind: MailKind,
  variables: Readonly<Record<string, unknown>>,
): Promise<Wording> {
  const part = async (name: string, format: 'text' | 'html') => {
    const template = templates.find(({ id }) => id === `${kind}-${name}`)
    const fill = await compile(template?.content ?? '', format)
    return fill(variables)
  }
  return {
    // A line break would begin another header.
    subject: (await part('subject', 'text')).replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(),
    text: await part('body-txt', 'text'),
    html: await part('body-html', 'html'),
  }
}

async function ownTemplates(tx: ReadTx): Promise<ReadonlyMap<string, string>> {
  return await tx.remember('mail templates', async () => {
    const templates = await tx.mailTemplates.list()
    return new Map(templates.map(({ id, content }) => [id, content]))
  })
}

function requireName(id: string): void {
  if (BUILT_IN.has(id)) return
  throw new SatchelError(
    'UNPROCESSABLE',
    `There is no template ${quoted(id)}; there are ${TEMPLATE_NAMES.join(', ')}`,
  )
}
