import { expect, test } from 'bun:test'
import { shownName } from '../../../src/domain/value/shown-name'

test.each([
  ['Groceries', 'Groceries'],
  ['  Alice \t Ångström ', 'Alice Ångström'],
  ['One\r\nBcc: eve@example.com', 'One Bcc: eve@example.com'],
  ['a\u2028b\u2029c\u0000d\u001be', 'a b c d e'],
  // The text after it would be read from right to left.
  ['invoice\u202egpj.exe', 'invoice gpj.exe'],
  ['\u2066x\u2069\u200f', 'x'],
  ['سلام', 'سلام'],
  ['👩‍👩‍👧 family', '👩‍👩‍👧 family'],
  ['\ud800x', '\ufffdx'],
  ['see https://evil.example/x', ''],
  ['see WWW.evil.example', ''],
  ['go to evil.example/login', ''],
  ['at evil.example:8443', ''],
  ['evil.example?code=1', ''],
  ['пример.рф/вход', ''],
  ['and/or: 1.5/2 cups', 'and/or: 1.5/2 cups'],
  ['alice@example.com', 'alice@example.com'],
  ['J.R.R. Tolkien: letters', 'J.R.R. Tolkien: letters'],
  ['x'.repeat(80), 'x'.repeat(80)],
  ['x'.repeat(81), `${'x'.repeat(79)}…`],
  ['😀'.repeat(81), `${'😀'.repeat(79)}…`],
  ['', ''],
  [undefined, ''],
  [{ name: 'x' }, ''],
])('shows %p as %p', (given, shown) => {
  expect(shownName(given)).toBe(shown)
})
