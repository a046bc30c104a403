/** A bucket of this machine that has nothing, and answers to nothing that is written into it. */
export interface HangingBucket extends Disposable {
  readonly address: string
  /** What a process needs to use it. */
  readonly environment: Readonly<Record<string, string>>
  /** Resolves when something is written into it. */
  readonly written: Promise<void>
}

const EMPTY =
  '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>'

export function serveHangingBucket(): HangingBucket {
  const written = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'GET') return new Response(EMPTY)
      written.resolve()
      return await new Promise<Response>(() => {})
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
    written: written.promise,
    [Symbol.dispose]: () => void server.stop(true),
  }
}
