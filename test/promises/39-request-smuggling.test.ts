import { describe, expect, test } from 'bun:test'
import { exchange, setupData } from '../http/setup'
import { share } from '../setup'

/**
 * Promise 39: the request smuggling set. A request that two programs could take for different ones
 * is 400, its connection is closed, and nothing behind it is taken for a request.
 */

/** Bytes that an attacker wants to be read as another request. */
const HIDDEN = 'DELETE /main/public/plain/a HTTP/1.1\r\nHost: x\r\nX-Hidden: 1\r\n\r\n'

const post = (...lines: string[]) => ['POST /main/token HTTP/1.1', 'Host: x', ...lines].join('\r\n')

const CHUNKED = 'Transfer-Encoding: chunked'

const REQUESTS: Readonly<Record<string, string>> = {
  'CL.TE': `${post('Content-Length: 6', CHUNKED)}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'TE.CL': `${post(CHUNKED, 'Content-Length: 4')}\r\n\r\n5c\r\n${HIDDEN}\r\n0\r\n\r\n`,
  'CL.TE with length 0': `${post('Content-Length: 0', CHUNKED)}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'two lengths': `${post('Content-Length: 2', 'Content-Length: 90')}\r\n\r\n{}${HIDDEN}`,
  'two lengths, spelled otherwise': `${post('Content-Length: 2', 'CONTENT-LENGTH: 3')}\r\n\r\n{}${HIDDEN}`,
  'a list of lengths': `${post('Content-Length: 2, 90')}\r\n\r\n{}${HIDDEN}`,
  'a length with a sign': `${post('Content-Length: +2')}\r\n\r\n{}${HIDDEN}`,
  'a negative length': `${post('Content-Length: -1')}\r\n\r\n${HIDDEN}`,
  'a length in hex': `${post('Content-Length: 0x2')}\r\n\r\n{}${HIDDEN}`,
  'a length with a fraction': `${post('Content-Length: 2.0')}\r\n\r\n{}${HIDDEN}`,
  'a length with a blank inside': `${post('Content-Length: 1 2')}\r\n\r\n{}${HIDDEN}`,
  'a length beyond all numbers': `${post('Content-Length: 99999999999999999999')}\r\n\r\n${HIDDEN}`,
  'a length that is no number': `${post('Content-Length: two')}\r\n\r\n{}${HIDDEN}`,
  'a blank before the colon of a length': `${post('Content-Length : 2')}\r\n\r\n{}${HIDDEN}`,
  'a blank before the colon of an encoding': `${post('Transfer-Encoding : chunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'an unknown encoding': `${post('Transfer-Encoding: xchunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'gzip before chunked': `${post('Transfer-Encoding: gzip, chunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'chunked before gzip': `${post('Transfer-Encoding: chunked, gzip')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'chunked twice': `${post('Transfer-Encoding: chunked, chunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'identity after chunked': `${post(CHUNKED, 'Transfer-Encoding: identity')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'chunked in quotes': `${post('Transfer-Encoding: "chunked"')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'a vertical tab before chunked': `${post('Transfer-Encoding:\u000bchunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'obs-fold': `${post('X-A: b', ' Content-Length: 90')}\r\n\r\n${HIDDEN}`,
  'obs-fold of an encoding': `${post('Transfer-Encoding:', ' chunked')}\r\n\r\n0\r\n\r\n${HIDDEN}`,
  'obs-fold in the first header': `GET /health HTTP/1.1\r\n Host: x\r\n\r\n${HIDDEN}`,
  'two hosts': `GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n`,
  'two equal hosts': `GET /health HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n`,
  'hosts in a list': `GET /health HTTP/1.1\r\nHost: x, y\r\nConnection: close\r\n\r\n`,
  'a host with a path': `GET /plain HTTP/1.1\r\nHost: x/main/public\r\nConnection: close\r\n\r\n`,
  'no host': `GET /health HTTP/1.1\r\n\r\n`,
  'a bare CR in a header': `${post('X-A: b\rContent-Length: 90')}\r\n\r\n${HIDDEN}`,
  'a NUL in a header': `${post('X-A: b\u0000c')}\r\n\r\n${HIDDEN}`,
  'a NUL in a name': `${post('X-A\u0000: b')}\r\n\r\n${HIDDEN}`,
  'a blank in a name': `${post('X A: b')}\r\n\r\n${HIDDEN}`,
  'a header without a colon': `${post('Content-Length 2')}\r\n\r\n{}${HIDDEN}`,
  'a header without a name': `${post(': b')}\r\n\r\n${HIDDEN}`,
  'a chunk without a length': `${post(CHUNKED)}\r\n\r\n\r\n${HIDDEN}`,
  'a chunk whose length is no number': `${post(CHUNKED)}\r\n\r\nZ\r\n{}\r\n0\r\n\r\n${HIDDEN}`,
  'a chunk with a sign': `${post(CHUNKED)}\r\n\r\n+2\r\n{}\r\n0\r\n\r\n${HIDDEN}`,
  'a chunk with 0x': `${post(CHUNKED)}\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n${HIDDEN}`,
  'a chunk longer than it says': `${post(CHUNKED)}\r\n\r\n2\r\n{}${HIDDEN}\r\n0\r\n\r\n`,
  'a chunk that ends with LF': `${post(CHUNKED)}\r\n\r\n2\n{}\n0\n\n${HIDDEN}`,
  'a chunk length beyond all numbers': `${post(CHUNKED)}\r\n\r\nfffffffffffffffff\r\n${HIDDEN}`,
  'chunks in HTTP/1.0': `POST /main/token HTTP/1.0\r\nHost: x\r\n${CHUNKED}\r\n\r\n0\r\n\r\n${HIDDEN}`,
}

describe('promise 39: two readings of one request', () => {
  const shared = share(setupData)

  test.each(Object.entries(REQUESTS))('%s: 400', async (_, request) => {
    const server = shared()
    await server.root.post('/public/plain', { id: 'a' })
    const before = server.lines.length
    const { text, statuses } = await exchange(server.url, request, true)
    expect({ statuses, text: text.slice(0, 300) }).toMatchObject({ statuses: [400] })
    const hidden = server.lines.slice(before).filter((line) => line.includes('"DELETE"'))
    expect(hidden).toEqual([])
    expect((await server.anyone.get('/public/plain/a')).status).toBe(200)
  })

  test.each([
    ['LF alone', 'GET /health HTTP/1.1\nHost: x\n\n'],
    ['no version', 'GET /health\r\n\r\n'],
    ['an unknown version', 'GET /health HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['two blanks', 'GET  /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tab', 'GET\t/health HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no address', 'GET HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['garbage', '\u0016\u0003\u0001\u0002\u0000\u0001'],
  ])('%s in a request line: refused and closed', async (_, request) => {
    const server = shared()
    const { statuses, isClosed } = await exchange(server.url, request + HIDDEN, true)
    expect([[], [400], [505]]).toContainEqual([...statuses])
    expect(isClosed).toBe(true)
  })
})

describe('promise 39: bytes behind a body', () => {
  test('is one request, where the body ends', async () => {
    await using server = await setupData()
    await server.root.post('/public/plain', { id: 'a' })
    const bodies = [
      `${post(`Content-Length: ${HIDDEN.length}`)}\r\n\r\n${HIDDEN}`,
      `GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
      `POST /main/my/plain HTTP/1.1\r\nHost: x\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
      `POST /none HTTP/1.1\r\nHost: x\r\n${CHUNKED}\r\n\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
    ]
    for (const request of bodies) {
      const next = 'GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
      const { text, statuses } = await exchange(server.url, request + next)
      expect(statuses.length).toBe(2)
      expect(text).toEndWith('{"status":"ready"}')
    }
    expect((await server.anyone.get('/public/plain/a')).status).toBe(200)
  })
})
