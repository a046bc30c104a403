import { describe, expect, test } from 'bun:test'
import { addOrigin, listOrigins, removeOrigin } from '../../../src/domain/database/origin'
import { refusalOf, setupStore } from '../../auth/setup'

async function setupOrigins() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return {
    ...base,
    add: (text: string, force = false) =>
      database.write((tx) => addOrigin(tx, base.clock, text, { force })),
    remove: (text: string) => database.write((tx) => removeOrigin(tx, text)),
    list: () => database.read(listOrigins),
  }
}

describe('listing an origin', () => {
  test.each([
    ['https://app.example.com', 'https://app.example.com'],
    ['https://app.example.com/', 'https://app.example.com'],
    ['HTTPS://App.Example.COM:443', 'https://app.example.com'],
    ['https://app.example.com:8443', 'https://app.example.com:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://app.example.com/callback', 'https://app.example.com/callback'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['https://localhost', 'https://localhost'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['app:My Application', 'app:My Application'],
    ['app://My Application', 'app:My Application'],
    ['APP:My Application', 'app:My Application'],
    ['app://my.app', 'app://my.app'],
    ['app://my.app/', 'app://my.app'],
    ['app://My.App', 'app://my.app'],
    ['app://.', 'app://.'],
    ['app://-', 'app://-'],
    ['Capacitor://LocalHost', 'capacitor://localhost'],
    ['ionic://localhost', 'ionic://localhost'],
    ['tauri://localhost', 'tauri://localhost'],
    ['chrome-extension://Abcdefgh', 'chrome-extension://abcdefgh'],
    ['MyApp://Callback/Done', 'myapp://callback/Done'],
    ['myapp:', 'myapp:'],
    ['myapp://', 'myapp:'],
    ['myapp://callback', 'myapp://callback'],
    ['com.example.app://oauth/done', 'com.example.app://oauth/done'],
    ['  https://app.example.com  ', 'https://app.example.com'],
  ])('keeps %p as %p', async (text, kept) => {
    await using origins = await setupOrigins()
    expect(await origins.add(text)).toBe(kept)
    expect(await origins.list()).toEqual([kept])
  })

  test.each([
    [''],
    ['app.example.com'],
    ['localhost:5173'],
    ['*'],
    ['https://*.example.com'],
    ['http://app.example.com'],
    ['http://localhost.example.com'],
    ['http://127.0.0.1.example.com'],
    ['https://user@app.example.com'],
    ['https://user:secret@app.example.com'],
    ['https://app.example.com?x=1'],
    ['https://app.example.com/#part'],
    ['https://app.example.com\\@evil.example'],
    ['https://app.example .com'],
    ['https://'],
    ['app:'],
    ['app://'],
    ['myapp:callback'],
    ['javascript:alert(1)'],
    ['javascript://app.example.com'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    ['blob:https://app.example.com'],
    ['wss://app.example.com'],
    ['null'],
    ['https://app.example.com\u0000'],
    ['app:\u001b[31m'],
    ['app:\ud800'],
    [`https://app.example.com/${'x'.repeat(2048)}`],
  ])('refuses %p', async (text) => {
    await using origins = await setupOrigins()
    const refusal = await refusalOf(() => origins.add(text))
    expect(refusal.code).toBe('UNPROCESSABLE')
    expect(refusal.message).toContain('cannot be listed')
    expect(await origins.list()).toEqual([])
  })

  test('permits plain http beyond this machine when it is forced', async () => {
    await using origins = await setupOrigins()
    expect(await origins.add('http://intranet.example:8080', true)).toBe(
      'http://intranet.example:8080',
    )
    expect((await refusalOf(() => origins.add('javascript:alert(1)', true))).code).toBe(
      'UNPROCESSABLE',
    )
  })

  test('twice lists it once, in the order of the first time', async () => {
    await using origins = await setupOrigins()
    await origins.add('https://b.example')
    origins.clock.advance(1)
    await origins.add('https://a.example')
    origins.clock.advance(1)
    await origins.add('https://b.example/')
    expect(await origins.list()).toEqual(['https://b.example', 'https://a.example'])
  })

  test('is undone by any way of writing it', async () => {
    await using origins = await setupOrigins()
    await origins.add('http://intranet.example', true)
    expect(await origins.remove('http://INTRANET.example:80/')).toBe(true)
    expect(await origins.remove('http://intranet.example')).toBe(false)
    expect(await origins.list()).toEqual([])
  })
})
