import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { setupOtp } from '../auth/otp-setup'
import { startSmtp } from '../mail/smtp-server'
import { setupServer } from '../setup'

/** Whose addresses are asked about, and what their owners are told. */
const PEOPLE = [
  ['known@example.com', ''],
  ['unknown@example.com', 'You are not registered here'],
  ['deactivated@example.com', 'This user is deactivated'],
  ['unknown@example.com as known@example.com', 'Not authorized'],
  ['unknown@example.com as nobody@example.com', 'Not authorized'],
] as const

test.each([undefined, 'login', 'register'])(
  'promise 22: step 1 with the intent %p does not reveal who is registered; the mail tells its owner',
  async (intent) => {
    await using server = await setupOtp()
    await server.addUser('known@example.com')
    await server.addUser('deactivated@example.com', { deactivated: server.clock.now() })
    await server.setPolicy({ newUsers: intent === 'register' ? 'prod' : 'reject' })
    for (const [email, notice] of PEOPLE) {
      const request = { grant_type: 'otp', email, scopes: ['ACCESS_DB'], intent }
      const answer = await server.send(request)
      expect(Object.keys(answer)).toEqual(['type', 'otp_id'])
      expect(JSON.stringify(answer)).toMatch(/^\{"type":"otp-sent","otp_id":"[\w-]{22}"\}$/)
      const mail = await server.mail()
      expect(mail.otp).toHaveLength(8)
      if (intent === 'register' && email === 'unknown@example.com') expect(mail.notice).toBe('')
      else expect(mail.notice).toContain(notice)
    }
  },
)

test('promise 22: step 1 does not look whose address it is: the mail does, when it leaves', async () => {
  await using server = await setupOtp()
  await server.setPolicy({ newUsers: 'reject' })
  await server.addUser('alice@example.com')
  // Nothing leaves from now on.
  await server.mailer[Symbol.asyncDispose]()
  await server.ask({ email: 'alice@example.com' })
  await server.ask({ email: 'maria@example.com' })
  const waiting = await server.database.read((tx) => tx.mails.due(server.clock.now(), 2))
  expect(new Set(waiting.map(({ sealed }) => sealed.length)).size).toBe(1)
  await server.addUser('alice@example.com', { deactivated: server.clock.now() })
  await server.addUser('maria@example.com')
  await using later = server.open()
  await later.idle()
  const notices = server.printed.map(({ letter: { to, variables } }) => ({ to, ...variables }))
  expect(notices.toSorted((one, other) => one.to.localeCompare(other.to))).toMatchObject([
    { to: 'alice@example.com', notice: expect.stringContaining('This user is deactivated') },
    { to: 'maria@example.com', notice: '' },
  ])
})

test('promise 22: the answers over HTTP are the same, and none waits for its mail', async () => {
  await using smtp = await startSmtp()
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  await using server = await setupServer({ smtpUrl, mailFrom: 'app@example.com' })
  await server.token({ sub: 'known@example.com' })
  const answers: unknown[] = []
  for (const email of ['known@example.com', 'unknown@example.com', 'unknown@x.example']) {
    const answer = await postJson(`${server.main}/token`, {
      grant_type: 'otp',
      email,
      scopes: ['ACCESS_DB'],
    })
    expect(smtp.mails.some(({ to }) => to.includes(email))).toBe(false)
    const headers = [...answer.headers].filter(([name]) => !/^(?:date|x-request-id)$/.test(name))
    const text = (await answer.text()).replace(/"otp_id":"[\w-]{22}"/, '"otp_id":""')
    answers.push({ status: answer.status, headers, text })
    expect((await smtp.next()).to).toEqual([email])
  }
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
})
