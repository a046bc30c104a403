/** A bucket of this machine that stops answering, or whose connections break. */
export interface HangingBucket extends Disposable {
  readonly address: string
  /** What a process needs to use it. */
  readonly environment: Readonly<Record<string, string>>
  /** Resolves when it is asked for something that it does not answer. */
  readonly hung: Promise<void>
  /** The paths of the objects that are in it. */
  readonly objects: () => readonly string[]
}

/**
 * `writes`: it answers to nothing that is written into it. `reads`: it takes files, and sends none. `cuts`: it takes
 * files, and cuts the connection before the last byte of each.
 */
export function serveHangingBucket(hangsAt: 'writes' | 'reads' | 'cuts' = 'writes'): HangingBucket {
  const hung = Promise.withResolvers<void>()
  const sizes = new Map<string, number>()

  async function hang(): Promise<Response> {
    hung.resolve()
    return await new Promise<Response>(() => {})
  }

  function list(prefix: string): Response {
    const contents = [...sizes]
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, size]) => `<Contents><Key>${path}</Key><Size>${size}</Size></Contents>`)
    return new Response(
      `<ListBucketResult><KeyCount>${contents.length}</KeyCount><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`,
    )
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const path = pathname.slice('/bucket/'.length)
      if (request.method === 'GET' && path === '') return list(searchParams.get('prefix') ?? '')
      if (request.method === 'GET' && hangsAt === 'cuts') return cutOff(sizes.get(path) ?? 0)
      if (hangsAt === 'writes' || request.method === 'GET') return await hang()
      if (request.method === 'PUT') sizes.set(path, (await request.bytes()).length)
      if (request.method === 'DELETE') sizes.delete(path)
      const size = sizes.get(path)
      if (request.method === 'HEAD' && size === undefined) return new Response('', { status: 404 })
      return new Response('', { headers: { etag: '"1"' } })
    },
  })
  return {
    address: 's3://bucket/backups',
    environment: {
      AWS_ACCESS_KEY_ID: 'satchel',
      AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests',
      AWS_ENDPOINT_URL: server.url.origin,
      AWS_REGION: 'us-east-1',
    },
    hung: hung.promise,
    objects: () => [...sizes.keys()],
    [Symbol.dispose]: () => void server.stop(true),
  }
}

/** All bytes of an answer but the last; then its connection breaks. */
function cutOff(size: number): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new Uint8Array(size - 1))
      await Bun.sleep(0)
      controller.error()
    },
  })
  return new Response(body, { headers: { etag: '"1"' } })
}
