import inviteHtml from './email-templates/invite-body-html.handlebars' with { type: 'text' }
import inviteText from './email-templates/invite-body-txt.handlebars' with { type: 'text' }
import inviteSubject from './email-templates/invite-subject.handlebars' with { type: 'text' }
import otpHtml from './email-templates/otp-body-html.handlebars' with { type: 'text' }
import otpText from './email-templates/otp-body-txt.handlebars' with { type: 'text' }
import otpSubject from './email-templates/otp-subject.handlebars' with { type: 'text' }
import { quoted, SatchelError } from '../domain/value/error'
import type { MailKind, MailTemplate, TemplateFile, Wording } from '../domain/store/mailer'
import type { ReadTx, WriteTx } from '../domain/store/store'
import { isRecord } from '../domain/value/value'
import { compile, MAX_TEMPLATE_BYTES } from './fill'
import { DeliveryError } from './message'
import { sampleVariables } from './samples'

/** The templates that come with the program, by the names of the clients' files (protocol.md §13.2). */
const BUILT_IN: ReadonlyMap<string, string> = new Map([
  ['otp-subject', otpSubject],
  ['otp-body-txt', otpText],
  ['otp-body-html', otpHtml],
  ['invite-subject', inviteSubject],
  ['invite-body-txt', inviteText],
  ['invite-body-html', inviteHtml],
])

export const BUILT_IN_TEMPLATES: readonly MailTemplate[] = Array.from(
  BUILT_IN,
  ([id, content]) => ({ id, content }),
)

export const TEMPLATE_NAMES: readonly string[] = [...BUILT_IN.keys()]

export interface ListedTemplate extends MailTemplate {
  /** True for a template of the database itself. */
  readonly isOwn: boolean
}

/** All templates of this database: its own, and the built-in ones for the rest. */
export function listTemplates(tx: ReadTx): ListedTemplate[] {
  const own = ownTemplates(tx)
  return [...BUILT_IN].map(([id, content]) => {
    return { id, content: own[id] ?? content, isOwn: own[id] !== undefined }
  })
}

/** Throws `UNPROCESSABLE` for an unknown name. */
export function getTemplate(tx: ReadTx, id: string): ListedTemplate {
  requireName(id)
  const templates = listTemplates(tx)
  return templates.find((template) => template.id === id)!
}

/**
 * Checks that `content` can be filled in as the template `id`. Throws `UNPROCESSABLE` with the place of
 * the first mistake.
 */
export async function requireTemplate(id: string, content: string): Promise<MailTemplate> {
  requireName(id)
  const mistake =
    (await findMistake(content, { ...SAMPLES[kindOf(id)] })) ??
    (await findUnknown(content, Object.keys(SAMPLES[kindOf(id)]))) ??
    (await findLack(id, content))
  if (mistake === undefined) return { id, content }
  throw new SatchelError('UNPROCESSABLE', `The template ${id} cannot be used: ${mistake}`)
}

/** Stores a template that `requireTemplate` has checked. */
export function setTemplate(tx: WriteTx, { id, content }: MailTemplate): void {
  const own = ownTemplates(tx)
  tx.settings.put({ id: SETTING, value: { ...own, [id]: content } })
}

/** Returns to the built-in template. False when it was in use. Throws `UNPROCESSABLE`. */
export function resetTemplate(tx: WriteTx, id: string): boolean {
  requireName(id)
  const { [id]: removed, ...value } = ownTemplates(tx)
  if (removed === undefined) return false
  tx.settings.put({ id: SETTING, value })
  return true
}

/**
 * A sample mail of the kind that the template `id` is a part of. `content` takes the place of that part; null leaves it as
 * it is among `templates`. Throws `UNPROCESSABLE` as `requireTemplate`.
 */
export async function previewMail(
  templates: readonly MailTemplate[],
  id: string,
  content: string | null,
  database: string,
): Promise<Wording> {
  requireName(id)
  const tried = content === null ? undefined : await requireTemplate(id, content)
  const kind = kindOf(id)
  const variables = { ...sampleVariables('alice@example.com', database)[kind] }
  return await wordMail(
    templates.map((each) => (each.id === tried?.id ? tried : each)),
    kind,
    variables,
  )
}

const FOLDER = 'email-templates/'
const KINDS: readonly MailKind[] = ['otp', 'invite']

/** The templates of a database as files, and the data to try them out with. */
export function listTemplateFiles(tx: ReadTx): TemplateFile[] {
  const own = ownTemplates(tx)
  const templates = listTemplates(tx)
  return [
    ...templates.map(({ id, content }) => ({ path: `${FOLDER}${id}.handlebars`, content })),
    ...KINDS.map((kind) => {
      const sample = `${JSON.stringify(SAMPLES[kind], null, 2)}\n`
      return { path: `${FOLDER}${kind}-testdata.json`, content: own[`${kind}-testdata`] ?? sample }
    }),
  ]
}

/** The files in the folder `email-templates`, checked; those in other folders are left out. Throws `UNPROCESSABLE`. */
export async function requireTemplateFiles(
  files: readonly TemplateFile[],
): Promise<MailTemplate[]> {
  const templates: MailTemplate[] = []
  for (const { path, content } of files) {
    const [, id, kind] = FILE.exec(path) ?? []
    if (id !== undefined) templates.push(await requireTemplate(id, content))
    else if (kind !== undefined) {
      templates.push({ id: `${kind}-testdata`, content: requireTestData(path, content) })
    }
  }
  return templates
}

/** Stores checked templates. Returns how many of them were different. */
export function setTemplates(tx: WriteTx, templates: readonly MailTemplate[]): number {
  const known = new Map(listTemplateFiles(tx).map(({ path, content }) => [idOf(path), content]))
  const changed = templates.filter(({ id, content }) => known.get(id) !== content)
  for (const template of changed) setTemplate(tx, template)
  return changed.filter(({ id }) => BUILT_IN.has(id)).length
}

/** Returns to the built-in templates. Returns how many of its own the database had. */
export function resetTemplates(tx: WriteTx): number {
  const own = ownTemplates(tx)
  tx.settings.remove(SETTING)
  return Object.keys(own).filter((id) => BUILT_IN.has(id)).length
}

const FILE = /^email-templates\/(?:([\w-]+)\.handlebars|(otp|invite)-testdata\.json)$/

function idOf(path: string): string {
  return path.slice(FOLDER.length).replace(/\.\w+$/, '')
}

function requireTestData(path: string, content: string): string {
  requireFewBytes(quoted(path), content)
  let isObject = false
  try {
    isObject = isRecord(JSON.parse(content))
  } catch {
    // Refused like other text.
  }
  if (isObject) return content
  throw new SatchelError('UNPROCESSABLE', `${quoted(path)} must be a JSON object`)
}

function requireFewBytes(name: string, text: string): void {
  if (Buffer.byteLength(text) <= MAX_TEMPLATE_BYTES) return
  throw new SatchelError('UNPROCESSABLE', `${name} has more than ${MAX_TEMPLATE_BYTES} bytes`)
}

/**
 * Fills in templates that are not stored, to try them out. Throws `UNPROCESSABLE` naming the part with
 * the first mistake, and for too many variables.
 */
export async function tryWording(
  parts: Wording,
  variables: Readonly<Record<string, unknown>>,
): Promise<Wording> {
  requireFewBytes('The test data', JSON.stringify(variables))
  const fill = async (name: keyof Wording) => {
    const mistake = await findMistake(parts[name], variables)
    if (mistake !== undefined) {
      throw new SatchelError(
        'UNPROCESSABLE',
        `The template of the ${name} cannot be used: ${mistake}`,
      )
    }
    return (await compile(parts[name], name === 'html' ? 'html' : 'text'))(variables)
  }
  return {
    subject: oneLine(await fill('subject')),
    text: await fill('text'),
    html: await fill('html'),
  }
}

/** A line break would begin a new header. */
function oneLine(subject: string): string {
  return subject.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
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
    subject: oneLine(await part('subject', 'text')),
    text: await part('body-txt', 'text'),
    html: await part('body-html', 'html'),
  }
}

/** The database's own templates, by name. */
type OwnTemplates = Readonly<Record<string, string>>

const SETTING = 'mail templates'

function ownTemplates(tx: ReadTx): OwnTemplates {
  return tx.remember(SETTING, () => {
    const setting = tx.settings.find(SETTING)
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

/** The first variable of a template that is none of these; undefined when there is none. */
async function findUnknown(content: string, known: readonly string[]): Promise<string | undefined> {
  const { default: handlebars } = await import('handlebars')
  let unknown: string | undefined
  const names = new Set(known)
  class Names extends handlebars.Visitor {
    override Program(program: hbs.AST.Program): void {
      for (const name of program.blockParams ?? []) names.add(name)
      super.Program(program)
    }
    override PathExpression({ data, original, parts: [name] }: hbs.AST.PathExpression): void {
      const isHelper = name !== undefined && Object.hasOwn(handlebars.helpers, name)
      if (!data && name !== undefined && !isHelper && !names.has(name)) unknown ??= original
    }
  }
  new Names().accept(handlebars.parse(content))
  return unknown && `it has no variable {{${unknown}}}; there are ${known.join(', ')}`
}
