import { expect, test } from 'bun:test'
import { ALICE, exchange, setupData } from '../http/setup'
import { setupExecutable } from './setup'

/**
 * Promise 31: CR, LF, NUL and ANSI sequences in every field that is shown again come out encoded;
 * logs stay one JSON object per line (ASVS 16.4.1).
 */

const INJECTIONS = [
  '\r\nX-Injected: 1',
  '\nX-Injected: 1',
  '\r\n\r\n{"injected":1}',
  '\u0000',
  '\u001b[31mred\u001b[0m',
  '\u009b31m',
  '\u0085',
  '\u2028{"injected":1}',
  '\u2029',
  '\u007f',
  '","level":"error","injected":"1',
  '{"injected":1}\n',
]

/** Characters that may not be in a log line. */
// eslint-disable-next-line no-control-regex -- control characters are the point
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

const raw = (path: string, ...headers: string[]) =>
  ['GET ' + path + ' HTTP/1.1', 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n')

function expectHonest(text: string): void {
  const [head = ''] = text.split('\r\n\r\n', 1)
  expect(head).not.toMatch(/^x-injected/im)
  for (const line of head.split('\r\n')) expect(line).not.toMatch(UNPRINTABLE)
  expect(text.match(/HTTP\/1\.1 \d{3} /g)).toBeArrayOfSize(1)
}

test('promise 31: encoded input stays encoded in headers, bodies and the log', async () => {
  await using server = await setupData()
  const { root } = server
  await root.post('/public/items', [{ n: 1 }, { n: 2 }])
  const alice = await server.as(ALICE)
  for (const text of INJECTIONS) {
    const path = encodeURIComponent(text)
    for (const target of [
      `/main/public/${path}`,
      `/main/public/plain/${path}`,
      `/${path}/public/plain`,
      `/main/${path}`,
      `/main/public/items?$limit=1&realmId=rlm-public&realmId=${path}`,
      `/main/public/items?$limit=1&$after=${path}`,
      `/main/public/items?${path}`,
    ]) {
      expectHonest((await exchange(server.url, raw(target))).text)
    }
    for (const answer of [
      await alice.post('/my/plain', { id: text }),
      await alice.post('/my/plain', { id: 'a', realmId: text }),
      await alice.post('/my/plain', { id: 'a', [`$${text}`]: 1 }),
      await alice.post('/my/roles', { realmId: 'rlm-public', name: text, permissions: {} }),
      await alice.post('/my/members', { realmId: 'rlm-public', permissions: { [text]: 1 } }),
      await server.anyone.post('/token', { grant_type: text, scopes: [text] }),
      await root.post('/all/plain', { id: 'a', realmId: `rlm${text}` }),
    ]) {
      if (answer.status >= 400) expect(answer.text).not.toMatch(UNPRINTABLE)
      expectHonest(`HTTP/1.1 ${answer.status} \r\n${headersOf(answer.headers)}\r\n\r\n`)
    }
  }
  for (const line of server.lines) {
    expect(line).not.toMatch(UNPRINTABLE)
    const entry = JSON.parse(line) as Record<string, unknown>
    expect(entry).not.toHaveProperty('injected')
    expect(entry['level']).toBe('info')
  }
})

function headersOf(headers: Headers): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join('\r\n')
}

test('promise 31: raw input is refused or shown encoded', async () => {
  await using server = await setupData()
  for (const text of ['\u0000', '\u001b[31m', '\rX', '\u0007', '\u007f', '\u009b31m', '\u0085']) {
    for (const request of [
      raw(`/main/public/${text}`),
      raw(`/main/public/items?x=${text}`),
      raw('/health', `User-Agent: ${text}`),
      raw('/health', `Origin: ${text}`),
      raw('/main/my/plain', `Authorization: Bearer ${text}`),
      raw('/health', `X-Forwarded-For: ${text}`),
      raw('/health', `X-Request-Id: ${text}`),
      `G${text}ET /health HTTP/1.1\r\nHost: x\r\n\r\n`,
    ]) {
      expectHonest((await exchange(server.url, Buffer.from(request, 'latin1'))).text)
    }
  }
  for (const line of server.lines) expect(line).not.toMatch(UNPRINTABLE)
})

test('promise 31: the subject of a token cannot forge a line', async () => {
  await using server = await setupData()
  for (const text of INJECTIONS) {
    const attempt = await server.token({ sub: `a${text}` }).catch(() => undefined)
    // Quotes and braces may be in a user id, control characters may not.
    expect(attempt === undefined).toBe(/\p{Cc}/u.test(text))
  }
  const odd = await server.as('","level":"error","x":"\u2028')
  expect((await odd.get('/my/plain')).status).toBe(200)
  for (const line of server.lines) {
    expect(line).not.toMatch(UNPRINTABLE)
    expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  }
})

test('promise 31: the executable’s standard error is one JSON object per line', async () => {
  let log: Promise<string>
  {
    await using executable = await setupExecutable()
    log = executable.served.log
    for (const text of INJECTIONS) {
      const path = encodeURIComponent(text)
      await exchange(executable.url, raw(`/main/public/${path}?${path}`, `User-Agent: ${path}`))
      await exchange(executable.url, raw(`/${path}`))
    }
  }
  const lines = (await log).trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(INJECTIONS.length * 2)
  for (const line of lines) {
    expect(line).not.toMatch(UNPRINTABLE)
    expect(JSON.parse(line)).not.toHaveProperty('injected')
  }
})
