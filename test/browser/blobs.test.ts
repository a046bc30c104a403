import { expect, test } from 'bun:test'
import { deflateSync } from 'node:zlib'
import { type BlobServer, setupBlobs } from '../http/blob-setup'
import { type Device, useChromium } from './chromium'

const browser = useChromium()

/**
 * Promise 41: blobs are inert. Hostile ones are opened in a real browser in every way that a page
 * has; each tries to call its server, to keep something there, and to tell the page around it.
 */

const ATTACK = `
  try { fetch('/attacked') } catch {}
  try { new Image().src = '/attacked' } catch {}
  try { localStorage.setItem('attacked', '1') } catch {}
  try { document.cookie = 'attacked=1; path=/' } catch {}
  try { (opener ?? parent).postMessage('attacked', '*') } catch {}`

const HTML = `<!doctype html><script>${ATTACK}</script><img src=/attacked onerror="${ATTACK}">
  <iframe src=/attacked></iframe><meta http-equiv=refresh content="0;url=/attacked">`
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="fetch('/attacked')">
  <script><![CDATA[${ATTACK}]]></script><image href="/attacked"/>
  <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>${ATTACK}</script></body></foreignObject></svg>`
const XHTML = `<html xmlns="http://www.w3.org/1999/xhtml"><script><![CDATA[${ATTACK}]]></script></html>`
const XSLT = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/"><html><script>${ATTACK}</script></html></xsl:template></xsl:stylesheet>`
const STYLED = `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="1:sheet"?><a/>`
const PDF = `%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.launchURL\\("/attacked"\\);this.submitForm\\("/attacked"\\))>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/AA<</O<</S/URI/URI(/attacked)>>>>>>endobj
trailer<</Root 1 0 R>>`
const MHTML = `MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n${HTML}\r\n--x--`

const HOSTILE = [
  ['text/html', HTML],
  ['text/html; charset=utf-7', HTML],
  ['application/xhtml+xml', XHTML],
  ['image/svg+xml', SVG],
  ['text/xml', XHTML],
  ['application/xml', SVG],
  ['application/rss+xml', STYLED],
  ['application/xml', STYLED],
  ['text/xsl', XSLT],
  ['application/pdf', PDF],
  ['multipart/related', MHTML],
  ['message/rfc822', MHTML],
  [
    'multipart/x-mixed-replace; boundary=x',
    `--x\r\nContent-Type: text/html\r\n\r\n${HTML}\r\n--x--`,
  ],
  ['text/javascript', ATTACK],
  ['image/png, text/html', HTML],
  ['text/html, image/png', HTML],
  ['image/png;x, text/html', HTML],
  ['unknown/unknown', HTML],
  ['anything at all', HTML],
  ['*/*', HTML],
  // Types that are shown inline, with contents that do not belong in them.
  ['text/plain', HTML],
  ['application/json', HTML],
  ['image/png', HTML],
  ['image/gif', `GIF89a/*${HTML}*/`],
  ['video/mp4', HTML],
  ['text/csv', HTML],
] as const

/** Uploads a blob that everybody may read; its address. */
async function publish(
  server: BlobServer,
  id: string,
  type: string,
  bytes: string | Uint8Array<ArrayBuffer>,
) {
  const alice = await server.blobs('alice@example.com')
  const ref = await alice.bring(id, bytes, type)
  const object = { id, file: { _bt: 'Blob', ref, size: bytes.length, ct: type } }
  const { status } = await server.root.post('/public/plain', object)
  if (status !== 200) throw new Error(`the blob ${id} was not published: ${status}`)
  return `${server.main}/blob/${ref}`
}

/** A foreign page, on another origin. */
function serveStranger(html: string) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  })
}

const embed = (address: string) => `
  <iframe src="${address}"></iframe><iframe sandbox="allow-scripts allow-same-origin" src="${address}"></iframe>
  <object data="${address}"></object><embed src="${address}"><img src="${address}">
  <video src="${address}" autoplay></video><link rel=stylesheet href="${address}"><link rel=import href="${address}">`

async function visit({ page }: Device, address: string): Promise<void> {
  // A download is no page: the browser says so and stays on its page.
  await page.goto(address, { waitUntil: 'load' }).catch(() => undefined)
}

test('promise 41: nothing in a blob runs on our origin, however it is opened', async () => {
  await using server = await setupBlobs()
  await publish(server, 'sheet', 'text/xsl', XSLT)
  const addresses: string[] = []
  for (const [n, [type, content]] of HOSTILE.entries()) {
    addresses.push(await publish(server, `hostile-${n}`, type, content))
  }
  const frames = addresses.map((address) => embed(address)).join('')
  const listen = `<script>onmessage = ({ data }) => { document.title = String(data) }</script>`
  using stranger = serveStranger(`<!doctype html>${listen}${frames}`)
  await using device = await browser.openDevice()
  const { page } = device
  for (const address of addresses) await visit(device, address)
  await visit(device, stranger.url.href)
  await page.waitForTimeout(1_500)
  expect(await page.title()).toBe('')
  // A page that opens them in windows of its own, which know who opened them.
  for (const address of addresses) {
    await page.evaluate(`void window.open(${JSON.stringify(address)})`)
  }
  await page.waitForTimeout(1_500)
  expect(await page.title()).toBe('')
  await page.goto(`${server.url}/health`)
  expect(await page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie])')).toBe(
    '[{},""]',
  )
  expect(server.lines.filter((line) => line.includes('attacked'))).toEqual([])
  // They were asked for, and sent.
  for (const n of HOSTILE.keys()) {
    expect(
      server.lines.some((line) => line.includes(`"/main/blob/1:hostile-${n}","status":200`)),
    ).toBe(true)
  }
})

test('pictures and texts are shown, by themselves and in pages of others', async () => {
  await using server = await setupBlobs()
  const picture = await publish(server, 'picture', 'image/png', onePixel())
  const text = await publish(server, 'text', 'text/plain;charset=utf-8', 'Grüße & <b>Küsse</b>')
  await using device = await browser.openDevice()
  const { page } = device
  await page.goto(picture)
  expect(await page.evaluate('document.images[0].naturalWidth')).toBe(1)
  await page.goto(text)
  expect(await page.evaluate('document.body.innerText')).toBe('Grüße & <b>Küsse</b>')
  using stranger = serveStranger(`<!doctype html><img src="${picture}">`)
  await page.goto(stranger.url.href)
  expect(await page.evaluate('document.images[0].naturalWidth')).toBe(1)
})

/** The smallest picture. */
function onePixel(): Uint8Array<ArrayBuffer> {
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length, 0)
    ends.writeUInt32BE(Bun.hash.crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])
  const pixel = deflateSync(Buffer.from([0, 255, 0, 0]))
  return new Uint8Array(
    Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', head),
      chunk('IDAT', pixel),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  )
}
