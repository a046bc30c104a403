import { describe, expect, test } from 'bun:test'
import { setupServer } from '../setup'

describe('GET /openapi', () => {
  test('is a page that runs only what this server sends', async () => {
    await using server = await setupServer()
    const answer = await fetch(`${server.url}/openapi`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html;charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const html = await answer.text()
    expect(html).not.toMatch(/\s(?:style|on\w+)=|<style/i)
    for (const [, script] of html.matchAll(/<script[^>]*>([^<]*)/g)) expect(script).toBe('')
    const addresses = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address)
    expect(addresses.length).toBeGreaterThan(5)
    const links = addresses.filter((address) => !/^openapi\/[\w./-]+$/.test(address ?? ''))
    expect(links).toEqual(['./', 'docs'])
  })

  test('loads files that may be kept for good', async () => {
    await using server = await setupServer()
    const html = await (await fetch(`${server.url}/openapi`)).text()
    const types: Readonly<Record<string, string>> = {
      js: 'text/javascript;charset=utf-8',
      css: 'text/css;charset=utf-8',
      svg: 'image/svg+xml',
      txt: 'text/plain;charset=utf-8',
    }
    const paths = [...html.matchAll(/"(openapi\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(paths).toHaveLength(6)
    for (const path of paths) {
      const answer = await fetch(`${server.url}/${path}`)
      expect(answer.status).toBe(200)
      const ending = path.slice(path.lastIndexOf('.') + 1)
      expect(answer.headers.get('content-type')).toBe(types[ending] ?? '')
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      const text = await answer.text()
      expect(text.length).toBeGreaterThan(100)
      // A sheet loads nothing from elsewhere.
      if (ending === 'css') expect(text).not.toMatch(/@import|url\((?!["']?data:)/)
    }
  })

  test('answers 404 for a file of another version', async () => {
    await using server = await setupServer()
    const answer = await fetch(`${server.url}/openapi/assets/start.0.js`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'UNKNOWN_ROUTE' })
  })

  test('lets a page of its own origin try things out', async () => {
    await using server = await setupServer()
    const headers = { origin: server.url, 'content-type': 'application/json' }
    const answer = await fetch(`${server.main}/token`, { method: 'POST', headers, body: '{}' })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('access-control-allow-origin')).toBe(server.url)
  })
})
