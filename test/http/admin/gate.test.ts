import { describe, expect, test } from 'bun:test'
import { refusal, setupAdmin } from './setup'

describe('the page for administrators', () => {
  test('is shown to any browser on this machine, and holds nothing of the data', async () => {
    await using server = await setupAdmin()
    const answer = await server.browser().send('GET', '')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/html')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin')
  })

  test('runs operations for a browser that has logged in', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    expect(await browser.result('db.list')).toEqual([{ name: 'main', url: server.main }])
  })

  test('logs in once with a link', async () => {
    await using server = await setupAdmin()
    const { url } = await server.commands.run('session.link', {})
    const code = url.split('#')[1]!
    const answer = await server.browser().post(code)
    expect(await answer.json()).toMatchObject({ role: 'operator', databases: ['main'] })
    expect(await refusal(await server.browser().post(code))).toEqual([403, 'OTP_EXPIRED'])
  })

  test('is not there with --no-admin', async () => {
    await using server = await setupAdmin({ noAdmin: true })
    for (const path of ['', '/session', '/operations', '/assets/main.js']) {
      const answer = await server.browser().send('GET', path)
      expect([path, answer.status]).toEqual([path, 404])
    }
  })
})
