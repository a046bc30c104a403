import { describe, expect, test } from 'bun:test'
import { findMailSettings } from '../../src/mail/settings'
import { listTemplates } from '../../src/mail/templates'
import { openOldDatabase, VERSIONS } from './old-database'

const EARLIER = VERSIONS.slice(0, VERSIONS.indexOf('0005_mail_settings'))
const WITH_MAILS = EARLIER.slice(EARLIER.indexOf('0003_codes'))

test.each(EARLIER)('a database of %s mails as its server does', async (version) => {
  await using old = await openOldDatabase(version)
  await old.database.read(async (tx) => {
    expect(await findMailSettings(tx)).toEqual({ sender: null, sealedAddress: null })
    expect((await listTemplates(tx)).filter(({ isOwn }) => isOwn)).toEqual([])
    expect(await tx.settings.list()).toEqual([])
  })
})

describe.each(WITH_MAILS)('a database of %s that mails in its own way', (version) => {
  test('goes on with its sender, its address, its words and its other settings', async () => {
    await using old = await openOldDatabase(
      version,
      `INSERT INTO mail_settings VALUES ('mail', 'My "App" <app@example.com>', 'v1.sealed')`,
      `INSERT INTO mail_templates VALUES ('otp-subject', 'Kod: {{{otp}}} "för" dig'), ('otp-body-txt', '')`,
      `INSERT INTO settings VALUES ('policy', '{"newUsers":"eval","evalDays":7,"seats":null}')`,
    )
    await old.database.read(async (tx) => {
      expect(await findMailSettings(tx)).toEqual({
        sender: 'My "App" <app@example.com>',
        sealedAddress: 'v1.sealed',
      })
      expect((await listTemplates(tx)).filter(({ isOwn }) => isOwn)).toEqual([
        { id: 'otp-subject', content: 'Kod: {{{otp}}} "för" dig', isOwn: true },
        { id: 'otp-body-txt', content: '', isOwn: true },
      ])
      const settings = await tx.settings.list()
      expect(settings.map(({ id }) => id)).toEqual(['mail', 'mail templates', 'policy'])
    })
  })

  test('goes on with one half of its own and the other of its server', async () => {
    await using old = await openOldDatabase(
      version,
      `INSERT INTO mail_settings VALUES ('mail', NULL, 'v1.sealed')`,
    )
    expect(await old.database.read(findMailSettings)).toEqual({
      sender: null,
      sealedAddress: 'v1.sealed',
    })
  })
})
