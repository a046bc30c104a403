import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { escapeHtml, messagePage, page, pageHeaders } from '../../../src/http/pages/page'

test('a page shows every value as text', () => {
  const evil = `<script>alert("1")</script>'&`
  const html = messagePage({ title: evil, text: evil, remedy: evil })
  expect(html).not.toContain('<script')
  expect(html).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#39;&#38;')
  expect(escapeHtml(`a"b`)).toBe('a&#34;b')
})

test('a message ends like a sentence', () => {
  expect(messagePage({ title: 'No', text: 'Ask again' })).toContain('<p>Ask again.</p>')
  expect(messagePage({ title: 'No', text: 'Really?' })).toContain('<p>Really?</p>')
})

test('only a page for people who know the server links to its pages', () => {
  const links = '<a href="/">Start</a><a href="/docs">Guides</a><a href="/openapi">Interface</a>'
  const message = { title: 'No', text: 'No' }
  expect(messagePage({ ...message, isNavigable: true })).toContain(links)
  expect(messagePage(message)).not.toContain('<nav')
})

test('a page may use its own style and nothing else, and send its form home if it has one', () => {
  const [, style = ''] =
    /<style>([\s\S]*)<\/style>/.exec(messagePage({ title: '', text: '' })) ?? []
  const policy = (form: string) =>
    `default-src 'none'; style-src ${hashOf(style)}; base-uri 'none'; form-action ${form}; frame-ancestors 'none'`
  expect(pageHeaders()).toEqual({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy("'none'"),
    'X-Robots-Tag': 'noindex',
  })
  expect(pageHeaders({ sendsForm: true })['Content-Security-Policy']).toBe(policy("'self'"))
})

test('a page runs its own scripts only, and calls this server only for those that need it', () => {
  const [still, live] = [
    { source: 'one()', fetches: false },
    { source: 'two()', fetches: true },
  ]
  const policyOf = (...scripts: (typeof still)[]) =>
    pageHeaders({ scripts })['Content-Security-Policy']
  expect(policyOf(still)).toContain(`; script-src ${hashOf('one()')}; base-uri`)
  expect(policyOf(still, live)).toContain(
    `; script-src ${hashOf('one()')} ${hashOf('two()')}; connect-src 'self'; base-uri`,
  )
  expect(page('Title', '', { scripts: [still, live] })).toContain(
    '<script>one()</script><script>two()</script>',
  )
})

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
