import { expect, test } from 'bun:test'
import { isWebAddress, serverAddressOf } from '../../../src/domain/value/web-address'

test.each([
  'https://app.example.com',
  'https://app.example.com:8443/hook?key=value',
  'http://10.0.0.1/hook',
  'HTTPS://App.Example.com/',
  'https://[2001:db8::1]/hook',
])('%j is one', (text) => {
  expect(isWebAddress(text)).toBe(true)
})

test.each([
  '',
  'app.example.com',
  '/hook',
  'ftp://app.example.com',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://user@app.example.com',
  'https://:password@app.example.com',
  'https://app.example.com/#fragment',
  `https://app.example.com/${'x'.repeat(2048)}`,
])('%j is none', (text) => {
  expect(isWebAddress(text)).toBe(false)
})

test('the address of a server has no query and no slash at its end', () => {
  expect(serverAddressOf('https://Data.example.com/main//')).toBe('https://data.example.com/main')
  for (const text of ['https://data.example.com/?key=1', 'ftp://data.example.com', 'data']) {
    expect(serverAddressOf(text)).toBeUndefined()
  }
})
