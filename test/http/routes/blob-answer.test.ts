import { expect, test } from 'bun:test'
import { isInert } from '../../../src/http/routes/blob-answer'

test.each([
  'image/png',
  'IMAGE/JPEG',
  'text/plain',
  'text/plain;charset=utf-8',
  'text/plain; charset=utf-8; format=flowed',
  'video/mp4',
  'font/woff2',
])('%s is shown', (type) => {
  expect(isInert(type)).toBe(true)
})

test.each([
  '',
  'image',
  'text/html',
  'text/html;charset=utf-8',
  'application/xhtml+xml',
  'image/svg+xml',
  'text/xml',
  'application/xml',
  'application/xslt+xml',
  'application/rss+xml',
  'application/mathml+xml',
  'application/pdf',
  'text/javascript',
  'text/css',
  'text/cache-manifest',
  'multipart/x-mixed-replace',
  'multipart/related',
  'application/x-shockwave-flash',
  'application/wasm',
  'message/rfc822',
  'application/octet-stream',
  'application/unheard-of',
  // Texts that another parser might read as a second type.
  'image/png, text/html',
  'image/png;x, text/html',
  'image/png;x=1,text/html',
  'image/png; x="a", text/html',
  'image/png;',
  'image/png text/html',
  'image/png\ttext/html',
  ' image/png',
])('%j is saved', (type) => {
  expect(isInert(type)).toBe(false)
})
