import { describe, expect, test } from 'bun:test'
import type { MailKind, MailVariables } from '../../src/domain/store/mailer'
import type { Database, ReadTx } from '../../src/domain/store/store'
import {
  getTemplate,
  listTemplates,
  previewMail,
  requireTemplate,
  requireTemplateFiles,
  resetTemplate,
  setTemplate,
  TEMPLATE_NAMES,
  tryWording,
  wordMail,
} from '../../src/mail/templates'
import { codeOf, refusalOf, setupStore } from '../auth/setup'

const OTP: MailVariables['otp'] = {
  otp: 'K7QM2XWD',
  otp_id: 'an-id',
  email: 'alice@example.com',
  originName: 'Tom & <b>Jerry</b>',
  origin: 'https://app.example.com',
  link: 'https://app.example.com/?otpId=an-id&otp=K7QM2XWD',
  minutes: 10,
  notice: '',
}

const INVITE: MailVariables['invite'] = {
  email: 'bob@example.com',
  name: '',
  realmName: 'Groceries',
  inviterName: 'Alice',
  inviterEmail: 'alice@example.com',
  originName: 'app.example.com',
  origin: 'https://app.example.com',
  days: 30,
  link: 'https://db.example.com/main/invitation',
}

async function setupTemplates() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return {
    ...base,
    database,
    set: async (id: string, content: string) => {
      const template = await requireTemplate(id, content)
      await database.write((tx) => setTemplate(tx, template))
    },
    word: (kind: MailKind, variables: object) => word(database, kind, { ...variables }),
  }
}

function htmlTemplates(tx: ReadTx): string {
  const templates = listTemplates(tx)
  return templates.map(({ id, content }) => (id.endsWith('html') ? content : '')).join('')
}

async function word(database: Database, kind: MailKind, variables: Record<string, unknown>) {
  return await wordMail(await database.read(listTemplates), kind, variables)
}

describe('a variable that a mail does not have', () => {
  test('is refused by its name, with those that there are', async () => {
    await using scene = await setupTemplates()
    for (const [content, name] of [
      ['{{otp}} {{nope}}', 'nope'],
      ['{{otp}}{{#if nope}}x{{/if}}', 'nope'],
      ['{{otp}} {{nope.deep}}', 'nope.deep'],
      ['{{otp}} {{constructor}}', 'constructor'],
    ] as const) {
      expect(await refusalOf(() => scene.set('otp-body-txt', content))).toMatchObject({
        code: 'UNPROCESSABLE',
        message: expect.stringContaining(`it has no variable {{${name}}}; there are otp, otp_id,`),
      })
    }
    await scene.set('otp-body-txt', '{{#with otp as |code|}}{{code}} {{@root.otp}}{{/with}}')
    expect(await codeOf(() => scene.set('invite-body-txt', '{{link}} {{otp}}'))).toBe(
      'UNPROCESSABLE',
    )
  })
})

describe('the templates that come with the program', () => {
  test('have the names of the clients’ files (protocol.md §13.2)', () => {
    expect(TEMPLATE_NAMES).toEqual([
      'otp-subject',
      'otp-body-txt',
      'otp-body-html',
      'invite-subject',
      'invite-body-txt',
      'invite-body-html',
    ])
  })

  test('word a code, in text as it is and in HTML escaped', async () => {
    await using server = await setupTemplates()
    const { subject, text, html } = await server.word('otp', OTP)
    expect(subject).toBe('K7QM2XWD is your code for Tom & <b>Jerry</b>')
    expect(text).toBe(
      [
        'This is the code to log in to Tom & <b>Jerry</b> as alice@example.com:',
        '',
        '    K7QM2XWD',
        '',
        'You can use it once, within 10 minutes.',
        '',
        'Or open this address on the device that you log in on:',
        'https://app.example.com/?otpId=an-id&otp=K7QM2XWD',
        '',
        'If you did not request a code, ignore this mail: without the code, nobody can log in.',
        '',
      ].join('\n'),
    )
    expect(html).toStartWith('<!doctype html>\n')
    expect(await server.database.read(htmlTemplates)).not.toContain('{{{')
    expect(html).toContain('Tom &amp; &lt;b&gt;Jerry&lt;/b&gt;')
    expect(html).not.toContain('<b>Jerry')
    expect(html).toContain('href="https://app.example.com/?otpId&#x3D;an-id&amp;otp&#x3D;K7QM2XWD"')
  })

  test('say what stands in the way, and leave out a link that is none', async () => {
    await using server = await setupTemplates()
    const notice = 'This address is not registered.'
    const { text, html } = await server.word('otp', { ...OTP, link: '', notice })
    expect(text).toStartWith(`${notice}\n\nThis is the code`)
    expect(text).not.toContain('On the device')
    expect(html).toContain(notice)
    expect(html).not.toContain('href')
  })

  test('word an invitation, with a name or without', async () => {
    await using server = await setupTemplates()
    const { subject, text, html } = await server.word('invite', INVITE)
    expect(subject).toBe('Alice invites you to Groceries')
    expect(text).toStartWith(
      'Hello,\n\nAlice (alice@example.com) invites you to share Groceries in',
    )
    expect(text).toContain(`\n${INVITE.link}\n`)
    expect(html).toContain('View the invitation')
    expect((await server.word('invite', { ...INVITE, name: 'Bob' })).text).toStartWith('Hello Bob,')
  })
})

describe('a template of a database', () => {
  test('takes the place of the one that comes with the program, until it is reset', async () => {
    await using server = await setupTemplates()
    await server.set('otp-subject', 'Kod: {{otp}} för {{originName}}')
    expect((await server.word('otp', OTP)).subject).toBe('Kod: K7QM2XWD för Tom & <b>Jerry</b>')
    expect(await server.database.read((tx) => getTemplate(tx, 'otp-subject'))).toMatchObject({
      isOwn: true,
    })
    const reset = () => server.database.write((tx) => resetTemplate(tx, 'otp-subject'))
    expect(await reset()).toBe(true)
    expect(await reset()).toBe(false)
    expect((await server.word('otp', OTP)).subject).toBe(
      'K7QM2XWD is your code for Tom & <b>Jerry</b>',
    )
  })

  test('cannot begin another header', async () => {
    await using server = await setupTemplates()
    await server.set('otp-subject', 'One\r\nBcc: mallory@example.com\n{{{originName}}}')
    const { subject } = await server.word('otp', { ...OTP, originName: 'x\r\nX-Evil: 1' })
    expect(subject).toBe('One Bcc: mallory@example.com x X-Evil: 1')
  })

  test('reaches nothing but the variables', async () => {
    const attempts = [
      '{{constructor.name}}',
      '{{__proto__}}',
      '{{otp.constructor.name}}',
      '{{lookup otp "constructor"}}',
      '{{lookup this "__proto__"}}',
      '{{lookup (lookup this "constructor") "name"}}',
      '{{#with otp as |text|}}{{text.constructor.constructor}}{{/with}}',
      '{{#each this}}{{constructor}}{{/each}}',
      '{{@root.constructor}}',
    ]
    // Most of them are refused when they are set, too.
    const content = `[${attempts.join('|')}|{{@root.otp}}]`
    const { text } = await wordMail([{ id: 'otp-body-txt', content }], 'otp', { ...OTP })
    expect(text).toBe('[|||||||||K7QM2XWD]')
  })

  test('is text in a text and HTML in HTML, with two braces as with three', async () => {
    await using server = await setupTemplates()
    await server.set('otp-body-txt', '{{originName}} {{{originName}}} {{otp}}')
    await server.set('otp-body-html', '<p title="{{originName}}">{{originName}} {{otp}}</p>')
    const { text, html } = await server.word('otp', { ...OTP, originName: `<"'&\`>` })
    expect(text).toBe(`<"'&\`> <"'&\`> K7QM2XWD`)
    const escaped = '&lt;&quot;&#x27;&amp;&#x60;&gt;'
    expect(html).toBe(`<p title="${escaped}">${escaped} K7QM2XWD</p>`)
  })

  test.each([
    ['{{#if otp}}', 'Parse error on line 1'],
    ['one\ntwo {{#each}', 'Parse error on line 2'],
    ['{{shout otp}}', 'shout'],
    ['{{> footer}}', 'footer'],
    ['{{log otp}}', 'log'],
    ['one\n{{otp', 'line 2'],
    ['{{helperMissing}}', 'helperMissing'],
    ['{{#*inline "x"}}{{#if otp}}{{> x}}{{/if}}{{/inline}}{{> x}}', 'in each other'],
    ['x'.repeat(200_000), 'bytes'],
  ])('is refused with its mistake: %p', async (content, mistake) => {
    const refusal = await refusalOf(() => requireTemplate('otp-body-txt', content))
    expect(refusal.code).toBe('UNPROCESSABLE')
    expect(refusal.message).toContain(mistake)
  })

  test('shows the code in the body of a mail that brings one', async () => {
    for (const id of ['otp-body-txt', 'otp-body-html']) {
      for (const content of ['{{link}}', '{{#if origin}}{{otp}}{{/if}}', '']) {
        const { code, message } = await refusalOf(() => requireTemplate(id, content))
        expect(code).toBe('UNPROCESSABLE')
        expect(message).toBe(
          `The template ${id} cannot be used: it does not show the code, {{otp}}`,
        )
      }
    }
    await requireTemplate('otp-subject', 'Your code')
    await requireTemplate('invite-body-txt', 'You are invited')
  })

  test('has one of six names', async () => {
    expect(await codeOf(() => requireTemplate('otp-footer', ''))).toBe('UNPROCESSABLE')
    await using server = await setupTemplates()
    const { database } = server
    expect(await codeOf(() => database.read((tx) => getTemplate(tx, 'none')))).toBe('UNPROCESSABLE')
    expect(await codeOf(() => database.write((tx) => resetTemplate(tx, 'none')))).toBe(
      'UNPROCESSABLE',
    )
  })
})

describe('a preview', () => {
  const preview = async (database: Database, id: string, content: string | null) =>
    await previewMail(await database.read(listTemplates), id, content, 'shop')

  test('is a sample mail with the stored templates, or with one that is not stored', async () => {
    await using scene = await setupTemplates()
    await scene.set('invite-subject', 'Join {{{realmName}}}')
    const stored = await preview(scene.database, 'invite-body-html', null)
    expect(stored.subject).toBe('Join a test list')
    expect(stored.html).toContain('https://example.com/this-is-a-test')
    const tried = await preview(
      scene.database,
      'otp-body-html',
      '<b>{{otp}}</b> for {{originName}}',
    )
    expect(tried).toMatchObject({
      subject: 'ABCD1234 is your code for shop',
      html: '<b>ABCD1234</b> for shop',
    })
    expect((await preview(scene.database, 'otp-body-html', null)).html).not.toBe(tried.html)
  })

  test('refuses what could not be stored', async () => {
    await using scene = await setupTemplates()
    for (const [id, content] of [
      ['otp-footer', null],
      ['otp-subject', '{{#if otp'],
      ['otp-body-txt', 'No code'],
      ['otp-subject', '{{nope}}'],
    ] as const) {
      expect(await codeOf(() => preview(scene.database, id, content))).toBe('UNPROCESSABLE')
    }
  })
})

describe('a template that is too much work', () => {
  const repeated = (depth: number) =>
    '{{#each @root}}'.repeat(depth) + 'x' + '{{/each}}'.repeat(depth)
  const partials = Array.from({ length: 20 }, (_, at) => {
    return `{{#*inline "p${at}"}}${`{{> p${at + 1}}}`.repeat(2)}{{/inline}}`
  })
  const TOO_MUCH: readonly (readonly [content: string, mistake: string])[] = [
    [repeated(5), 'it takes more than 50000 steps to fill in'],
    [`${partials.join('')}{{#*inline "p20"}}x{{/inline}}{{> p0}}`, 'steps to fill in'],
    ['{{#*inline "a"}}{{> a}}{{/inline}}{{> a}}', 'it has more than 32 blocks or expressions'],
    ['{{#if otp}}'.repeat(40) + '{{/if}}'.repeat(40), 'it has more than 32 blocks or expressions'],
    [`{{lookup ${'(lookup '.repeat(40)}@root "otp"${' "a")'.repeat(40)} "a"}}`, 'in each other'],
    ['{{#each @root}}'.repeat(2) + 'x'.repeat(120_000) + '{{/each}}'.repeat(2), 'characters'],
    ['{{x}}'.repeat(5_000), 'it has tags of more than 8192 characters in all'],
    [`{{lookup "}}" ${'a '.repeat(5_000)}}}`, 'it has tags of more than 8192 characters in all'],
    ['x'.repeat(128 * 1024), 'it has more than 131072 bytes'],
  ]

  test('is refused by name, stored or not', async () => {
    await using scene = await setupTemplates()
    const templates = await scene.database.read(listTemplates)
    for (const [given, mistake] of TOO_MUCH) {
      const content = `{{otp}}${given}`
      const named = { code: 'UNPROCESSABLE', message: expect.stringContaining(mistake) }
      for (const refused of [
        () => requireTemplate('otp-body-txt', content),
        () => previewMail(templates, 'otp-body-txt', content, 'main'),
        () => tryWording({ subject: 'a', text: 'b', html: content }, { ...OTP }),
      ]) {
        expect([mistake, await refusalOf(refused)]).toEqual([
          mistake,
          expect.objectContaining(named),
        ])
      }
    }
  })

  test('words no mail when it was stored before', async () => {
    await using scene = await setupTemplates()
    const content = `{{otp}}${repeated(5)}`
    await scene.database.write((tx) => setTemplate(tx, { id: 'otp-body-txt', content }))
    const failure = await scene.word('otp', OTP).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      name: 'DeliveryError',
      message: 'otp-body-txt cannot be filled in: it takes more than 50000 steps to fill in',
    })
  })

  test('may be so with the variables of a test alone', async () => {
    const html = (content: string, vars: object) =>
      refusalOf(() => tryWording({ subject: 'a', text: 'b', html: content }, { ...vars }))
    const list = Array.from({ length: 60_000 }, () => 1)
    const steps = { message: expect.stringContaining('steps to fill in') }
    expect(await html('{{#each list}}{{/each}}', { list })).toMatchObject(steps)
    expect(await html('{{#list}}x{{/list}}', { list })).toMatchObject(steps)
    const characters = { message: expect.stringContaining('more than 1048576 characters') }
    const long = 'x'.repeat(100_000)
    expect(await html('{{long}}'.repeat(11), { long })).toMatchObject(characters)
    expect(await html('{{{lookup this "long"}}}'.repeat(11), { long })).toMatchObject(characters)
  })

  test('is one with more test data than a template may have bytes, which is not looked at', async () => {
    const data = { text: 'x'.repeat(128 * 1024) }
    const tried = () => tryWording({ subject: 'a', text: '{{#', html: 'c' }, data)
    const tooMuch = { code: 'UNPROCESSABLE', message: expect.stringContaining('131072 bytes') }
    expect(await refusalOf(tried)).toMatchObject(tooMuch)
    const file = { path: 'email-templates/otp-testdata.json', content: `[${'1,'.repeat(100_000)}` }
    expect(await refusalOf(() => requireTemplateFiles([file]))).toMatchObject(tooMuch)
  })

  test('is none with the blocks, lists and comments of a mail', async () => {
    const part = '{{#each list}}{{#if @first}}{{this}}{{else}}, {{this}}{{/if}}{{/each}}'
    const text = `{{! ${'a long comment '.repeat(1_000)} }}${part.repeat(20)}`
    const list = Array.from({ length: 50 }, (_, at) => at)
    const wording = await tryWording({ subject: 'a', text, html: text }, { list })
    expect(wording.text).toBe(list.join(', ').repeat(20))
  })
})
