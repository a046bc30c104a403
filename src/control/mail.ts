import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import type { MailKind } from '../domain/store/mailer'
import { sampleLetter } from '../mail/samples'
import {
  getTemplate,
  listTemplates,
  requireTemplate,
  resetTemplate,
  setTemplate,
} from '../mail/templates'
import { optional, text } from './fields'
import { operation } from './operation'

const KINDS: readonly MailKind[] = ['otp', 'invite']

export const mailOperations = {
  'mail.show': operation({ database: text }, async (workspace, input) => {
    const { mailer } = await workspace.open(input.database)
    return (await mailer.route()) ?? null
  }),

  /** The address is the upload; without one it stays as it is. */
  'mail.set': operation(
    { database: text, sender: optional(text) },
    async (workspace, { sender, ...input }, { upload }) => {
      const { mailer } = await workspace.open(input.database)
      const address =
        upload === undefined ? {} : { address: (await new Response(upload).text()).trim() }
      await mailer.configure({ ...address, ...(sender === null ? {} : { sender }) })
      return (await mailer.route()) ?? null
    },
  ),

  'mail.reset': operation({ database: text }, async (workspace, input) => {
    const { mailer } = await workspace.open(input.database)
    await mailer.configure({ address: null, sender: null })
    return (await mailer.route()) ?? null
  }),

  'mail.test': operation(
    { database: text, to: text, kind: text },
    async (workspace, { to, ...input }) => {
      const { mailer, database } = await workspace.open(input.database)
      const kind = KINDS.find((candidate) => candidate === input.kind)
      if (kind === undefined) {
        throw new SatchelError('INVALID_REQUEST', `kind must be one of ${KINDS.join(', ')}`)
      }
      const address = requireEmail(to)
      const letter = sampleLetter(kind, address, database.name, workspace.clock.now())
      return await mailer.trySend(letter)
    },
  ),

  'template.list': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read(listTemplates)
  }),

  'template.show': operation({ database: text, name: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read((tx) => getTemplate(tx, input.name))
  }),

  /** The template is the upload. */
  'template.set': operation(
    { database: text, name: text },
    async (workspace, { name, ...input }, { upload }) => {
      const { database } = await workspace.open(input.database)
      const template = await requireTemplate(name, await new Response(upload ?? null).text())
      await database.write((tx) => setTemplate(tx, template))
      return { name }
    },
  ),

  'template.reset': operation(
    { database: text, name: text },
    async (workspace, { name, ...input }) => {
      const { database } = await workspace.open(input.database)
      return { name, wasOwn: await database.write((tx) => resetTemplate(tx, name)) }
    },
  ),
}
