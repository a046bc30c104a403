import { MANAGE } from '../domain/access/door'
import type { MailKind } from '../domain/store/mailer'
import { requireEmail } from '../domain/value/email'
import { sampleLetter } from '../mail/samples'
import {
  getTemplate,
  listTemplates,
  requireTemplate,
  resetTemplate,
  setTemplate,
} from '../mail/templates'
import { oneOf, optional, text } from './fields'
import { onDatabase, readUpload } from './operation'

const KINDS: readonly MailKind[] = ['otp', 'invite']

export const mailOperations = {
  'mail.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show how mails are sent', input: {} },
    async ({ mailer }) => (await mailer.route()) ?? null,
  ),

  /** The address is the upload; without an upload it is not changed. */
  'mail.set': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Set how mails are sent',
      input: { sender: optional(text) },
    },
    async ({ mailer }, { sender }, { upload, write }) => {
      const address = upload === undefined ? {} : { address: (await readUpload({ upload })).trim() }
      const change = { ...address, ...(sender === null ? {} : { sender }) }
      const hookSecret = await mailer.configure(change, write)
      const route = await mailer.route()
      if (route === undefined) return null
      return hookSecret === null ? route : { ...route, hookSecret }
    },
  ),

  'mail.reset': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Send mails as the server does', input: {} },
    async ({ mailer }, _input, { write }) => {
      await mailer.configure({ address: null, sender: null }, write)
      return (await mailer.route()) ?? null
    },
  ),

  'mail.test': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Send a mail to try it',
      input: { to: text, kind: oneOf(KINDS) },
    },
    async ({ name, mailer }, { to, kind }, { now, note }) => {
      const letter = sampleLetter(kind, requireEmail(to), name, now)
      await note()
      return await mailer.trySend(letter)
    },
  ),

  'template.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the mail templates', input: {} },
    ({ database }) => database.read(listTemplates),
  ),

  'template.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show a mail template', input: { name: text } },
    ({ database }, { name }) => database.read((tx) => getTemplate(tx, name)),
  ),

  /** The template is the upload. */
  'template.set': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Set a mail template', input: { name: text } },
    async (_host, { name }, { write, ...streams }) => {
      const template = await requireTemplate(name, await readUpload(streams))
      await write((tx) => setTemplate(tx, template))
      return { name }
    },
  ),

  'template.reset': onDatabase(
    {
      scopes: MANAGE,
      effect: 'destroy',
      summary: 'Return to a built-in mail template',
      input: { name: text },
    },
    async (_host, { name }, { write }) => ({
      name,
      wasOwn: await write((tx) => resetTemplate(tx, name)),
    }),
  ),
}
