import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { escapeHtml, messagePage, messagePolicy } from '../../src/http/page'

test('a page shows what it is told as text, whatever it is', () => {
  const evil = `<script>alert("1")</script>'&`
  const html = messagePage(evil, evil)
  expect(html).not.toContain('<script')
  expect(html).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#39;&#38;')
  expect(escapeHtml(`a"b`)).toBe('a&#34;b')
})

test('a page may use its own style and nothing else', () => {
  const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(messagePage('', '')) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  expect(messagePolicy()).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
})
