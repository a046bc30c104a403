import { join } from 'node:path'

/** A web application with the published add-on (`page.js`), at another address than the server. */
export interface Application extends Disposable {
  readonly url: string
}

let bundle: Promise<Blob> | undefined

/** Of the database at this address. */
export async function serveApplication(databaseUrl: string): Promise<Application> {
  bundle ??= bundlePage()
  const script = await bundle
  const html = `<!doctype html><html data-database-url="${databaseUrl}">
    <button disabled>Log in</button><output></output><script type="module" src="/script"></script>`
  const page = () => new Response(html, { headers: { 'content-type': 'text/html' } })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: { '/': page, '/script': () => new Response(script) },
  })
  return {
    url: `http://localhost:${server.port}/`,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

async function bundlePage(): Promise<Blob> {
  const entrypoints = [join(import.meta.dir, 'page.js')]
  const { outputs } = await Bun.build({ entrypoints, target: 'browser' })
  return new Blob([await outputs[0]!.text()], { type: 'text/javascript' })
}
