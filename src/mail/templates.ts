import inviteHtml from './email-templates/invite-body-html.handlebars' with { type: 'text' }
import inviteText from './email-templates/invite-body-txt.handlebars' with { type: 'text' }
import inviteSubject from './email-templates/invite-subject.handlebars' with { type: 'text' }
import otpHtml from './email-templates/otp-body-html.handlebars' with { type: 'text' }
import otpText from './email-templates/otp-body-txt.handlebars' with { type: 'text' }
import otpSubject from './email-templates/otp-subject.handlebars' with { type: 'text' }
import { quoted, SatchelError } from '../domain/value/error'
import type { MailKind } from '../domain/store/mailer'
import type { ReadTx, WriteTx } from '../domain/store/store'
import { DeliveryError } from './message'
import { sampleVariables } from './samples'

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

/** A part of a mail: `otp-subject` in Handlebars. */
export interface MailTemplate {
  readonly id: string
  readonly content: string
}

export interface ListedTemplate extends MailTemplate {
  /** True for a template of the database itself. */
  readonly isOwn: boolean
}

/** All templates of this database: its own, and the built-in ones for the rest. */
export async function listTemplates(tx: ReadTx): Promise<ListedTemplate[]> {
  const own = await ownTemplates(tx)
  return [...BUILT_IN].map(([id, content]) => {
    return { id, content: own[id] ?? content, isOwn: own[id] !== undefined }
  })
}

/** Throws `UNPROCESSABLE` for an unknown name. */
export async function getTemplate(tx: ReadTx, id: string): Promise<ListedTemplate> {
  requireName(id)
  const templates = await listTemplates(tx)
  return templates.find((template) => template.id === id)!
}

/**
 * Checks that `content` can be filled in as the template `id`. Throws `UNPROCESSABLE` with the place of
 * the first mistake.
 */
export async function requireTemplate(id: string, content: string): Promise<MailTemplate> {
  requireName(id)
  const mistake =
    Buffer.byteLength(content) > MAX_BYTES
      ? `it has more than ${MAX_BYTES} bytes`
      : ((await findMistake(content, { ...SAMPLES[kindOf(id)] })) ?? (await findLack(id, content)))
  if (mistake === undefined) return { id, content }
  throw new SatchelError('UNPROCESSABLE', `The template ${id} cannot be used: ${mistake}`)
}

/** Stores a template that `requireTemplate` has checked. */
export async function setTemplate(tx: WriteTx, { id, content }: MailTemplate): Promise<void> {
  const own = await ownTemplates(tx)
  await tx.settings.put({ id: SETTING, value: { ...own, [id]: content } })
}

/** Returns to the built-in template. False when it was in use. Throws `UNPROCESSABLE`. */
export async function resetTemplate(tx: WriteTx, id: string): Promise<boolean> {
  requireName(id)
  const { [id]: removed, ...value } = await ownTemplates(tx)
  if (removed === undefined) return false
  await tx.settings.put({ id: SETTING, value })
  return true
}

/** Fills in the templates of a mail of this kind. Throws `DeliveryError`. */
export async function wordMail(
  templates: readonly MailTemplate[],
  kind: MailKind,
  variables: Readonly<Record<string, unknown>>,
): Promise<Wording> {
  const part = async (name: string, format: 'text' | 'html') => {
    const template = templates.find(({ id }) => id === `${kind}-${name}`)
    try {
      const fill = await compile(template?.content ?? '', format)
      return fill(variables)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new DeliveryError(`${kind}-${name} cannot be filled in: ${reason}`, false, error)
    }
  }
  return {
    // A line break would begin a new header.
    subject: (await part('subject', 'text')).replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(),
    text: await part('body-txt', 'text'),
    html: await part('body-html', 'html'),
  }
}

/** The database's own templates, by name. */
type OwnTemplates = Readonly<Record<string, string>>

const SETTING = 'mail templates'

async function ownTemplates(tx: ReadTx): Promise<OwnTemplates> {
  return await tx.remember(SETTING, async () => {
    const setting = await tx.settings.find(SETTING)
    return (setting?.value ?? {}) as OwnTemplates
  })
}

const SAMPLES = sampleVariables('alice@example.com', 'main')

function kindOf(id: string): MailKind {
  return id.startsWith('invite-') ? 'invite' : 'otp'
}

/** The reason why a mail from this valid template would be useless for logging in. */
async function findLack(id: string, content: string): Promise<string | undefined> {
  if (!id.startsWith('otp-body-')) return undefined
  const fill = await compile(content, id.endsWith('html') ? 'html' : 'text')
  const { otp } = SAMPLES
  return fill({ ...otp }).includes(otp.otp) ? undefined : 'it does not show the code, {{otp}}'
}

function requireName(id: string): void {
  if (BUILT_IN.has(id)) return
  throw new SatchelError(
    'UNPROCESSABLE',
    `There is no template ${quoted(id)}; there are ${TEMPLATE_NAMES.join(', ')}`,
  )
}

/** Fills in a template. */
export type Fill = (variables: Readonly<Record<string, unknown>>) => string

const compiled = new Map<string, Fill>()
/** Six for each database: enough for twenty that send at the same time. */
const REMEMBERED = 120

/**
 * Compiles a template. In text nothing is escaped: two braces there have the meaning of three in
 * HTML. Throws for a template with a mistake.
 */
export async function compile(content: string, format: 'text' | 'html'): Promise<Fill> {
  const name = `${format} ${content}`
  const known = compiled.get(name)
  if (known !== undefined) return known
  const handlebars = await load()
  const fill = handlebars.compile(content, {
    noEscape: format === 'text',
    // An unknown helper is a mistake, not a missing variable.
    knownHelpersOnly: true,
  })
  if (compiled.size >= REMEMBERED) compiled.clear()
  compiled.set(name, fill)
  return fill
}

/** The fault of a template with these variables, or with none; undefined when there is none. */
export async function findMistake(
  content: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  try {
    const fill = await compile(content, 'html')
    fill({})
    fill(variables)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A separate environment, without partials and helpers that other code registers. */
async function load() {
  // Loaded here: few processes send mails, and every process starts.
  const { default: Handlebars } = await import('handlebars')
  const handlebars = Handlebars.create()
  // It would write to the output of the process.
  handlebars.unregisterHelper('log')
  return handlebars
}
