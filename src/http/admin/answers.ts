import type { SatchelError } from '../../domain/value/error'
import { answer, type AnswerOptions, type Body, errorAnswer } from '../answer'
import type { Call } from '../call'

/** A file of the page. */
export interface AdminFile {
  /** Compressed by gzip. */
  readonly bytes: Uint8Array
  readonly type: string
  /** True when its name changes with its content. */
  readonly isImmutable: boolean
}

/** The files of the page by name; `index.html` is the page. */
export interface AdminAssets {
  file(name: string): AdminFile | undefined
}

/** No inline script or style, no other origin, nothing of a page around it, and no HTML from a string. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** A file of the data, should a browser open it: no script, no network, no origin. */
const FILE_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
/** A mail as its reader sees it, in a frame of the page. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"

/** Of every answer below `/admin`, also of a refusal. */
const COMMON = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  Vary: 'Origin, Sec-Fetch-Site, Accept-Encoding',
}

export function adminAnswer(call: Call, body: Body, options: AnswerOptions = {}): Response {
  const headers = { ...COMMON, 'Cache-Control': 'no-store', ...options.headers }
  return answer(call, body, { ...options, headers })
}

export function adminJson(call: Call, value: unknown, headers: AnswerOptions['headers'] = {}) {
  return adminAnswer(call, JSON.stringify(value), { headers })
}

/** `{code, message, …}` as elsewhere, without an invitation to send a token. */
export function adminRefusal(call: Call, error: SatchelError): Response {
  const response = errorAnswer(call, error, COMMON)
  response.headers.delete('www-authenticate')
  return response
}

/** The events of an operation, one JSON object a line. */
export function asEvents(call: Call, events: Body): Response {
  return adminAnswer(call, events, { type: 'application/x-ndjson' })
}

/** A file of the page, as it is kept where the browser accepts that. */
export function assetAnswer(call: Call, { bytes, type, isImmutable }: AdminFile): Response {
  const isZipped = /\bgzip\b/.test(call.sent.headers.get('accept-encoding') ?? '')
  const body = new Blob([isZipped ? bytes : Bun.gunzipSync(Uint8Array.from(bytes))])
  return adminAnswer(call, body, {
    type,
    headers: {
      'Content-Security-Policy': PAGE_POLICY,
      'Cache-Control': isImmutable ? 'private, max-age=31536000, immutable' : 'no-cache',
      ...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
    },
  })
}

/** The bytes of a download. `name` is that of the file for its reader. */
export function fileAnswer(call: Call, body: Body, type: string, name: string): Response {
  return adminAnswer(call, body, {
    type,
    headers: {
      'Content-Security-Policy': FILE_POLICY,
      'Content-Disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
    },
  })
}

export function mailAnswer(call: Call, html: string): Response {
  return adminAnswer(call, html, {
    type: 'text/html;charset=utf-8',
    headers: { 'Content-Security-Policy': MAIL_POLICY, 'X-Frame-Options': 'SAMEORIGIN' },
  })
}
