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
import { onDatabase, oneOf, optional, readUpload, text } from './operation'

const KINDS: readonly MailKind[] = ['otp', 'invite']

export const mailOperations = {
  'mail.show': onDatabase({}, async ({ mailer }) => (await mailer.route()) ?? null),

  /** The address is the upload; without an upload it is not changed. */
  'mail.set': onDatabase({ sender: optional(text) }, async ({ mailer }, { sender }, { upload }) => {
    const address = upload === undefined ? {} : { address: (await readUpload({ upload })).trim() }
    const change = { ...address, ...(sender === null ? {} : { sender }) }
    const hookSecret = await mailer.configure(change)
    const route = await mailer.route()
    if (route === undefined) return null
    return hookSecret === null ? route : { ...route, hookSecret }
  }),

  'mail.reset': onDatabase({}, async ({ mailer }) => {
    await mailer.configure({ address: null, sender: null })
    return (await mailer.route()) ?? null
  }),

  'mail.test': onDatabase(
    { to: text, kind: oneOf(KINDS) },
    ({ name, mailer }, { to, kind }, { now }) =>
      mailer.trySend(sampleLetter(kind, requireEmail(to), name, now)),
  ),

  'template.list': onDatabase({}, ({ database }) => database.read(listTemplates)),

  'template.show': onDatabase({ name: text }, ({ database }, { name }) =>
    database.read((tx) => getTemplate(tx, name)),
  ),

  /** The template is the upload. */
  'template.set': onDatabase({ name: text }, async ({ database }, { name }, streams) => {
    const template = await requireTemplate(name, await readUpload(streams))
    await database.write((tx) => setTemplate(tx, template))
    return { name }
  }),

  'template.reset': onDatabase({ name: text }, async ({ database }, { name }) => ({
    name,
    wasOwn: await database.write((tx) => resetTemplate(tx, name)),
  })),
}
