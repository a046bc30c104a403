import { expect, test } from 'bun:test'
import { newSecret } from '../../../src/domain/value/secret'
import { browserCookie, readBrowser } from '../../../src/http/routes/oauth'

// design.md §6
test('belongs to the OAuth routes of one database, is Lax, and goes over https alone where there is https', () => {
  expect(browserCookie('http://127.0.0.1:7080/main', 'x')).toBe(
    'satchel-login=x; Path=/main/oauth; Max-Age=1800; HttpOnly; SameSite=Lax',
  )
  expect(browserCookie('https://todo.example.com', 'x')).toBe(
    'satchel-login=x; Path=/oauth; Max-Age=1800; HttpOnly; SameSite=Lax; Secure',
  )
})

test('is read among others, and only when it can be ours', () => {
  const secret = newSecret()
  expect(readBrowser(`satchel-login=${secret}`)).toBe(secret)
  expect(readBrowser(`a=b; satchel-login=${secret}; c=d`)).toBe(secret)
  for (const header of [
    null,
    '',
    'satchel-login=',
    'satchel-login=short',
    `satchel-login=${secret}x`,
    `xsatchel-login=${secret}`,
    `satchel-login=${secret.slice(1)}"`,
  ]) {
    expect(readBrowser(header)).toBeUndefined()
  }
})
