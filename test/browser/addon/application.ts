import { join } from 'node:path'

/** A web application with the published add-on (`page.js`), at another address than the server. */
export interface Application extends Disposable {
  readonly url: string
}

const bundles = new Map<string, Promise<Blob>>()

/** Of the database at this address; `script` is the file of the application in this folder. */
export async function serveApplication(
  databaseUrl: string,
  script = 'page.js',
): Promise<Application> {
  const [code, worker] = await Promise.all([bundled(script), bundled('worker.js')])
  const html = `<!doctype html><html data-database-url="${databaseUrl}">
    <button disabled>Log in</button><output></output><script type="module" src="/script"></script>`
  const page = () => new Response(html, { headers: { 'content-type': 'text/html' } })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/': page,
      '/script': () => new Response(code),
      '/worker.js': () => new Response(worker),
    },
  })
  return {
    url: `http://localhost:${server.port}/`,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

function bundled(script: string): Promise<Blob> {
  const bundle = bundles.get(script) ?? bundlePage(script)
  bundles.set(script, bundle)
  return bundle
}

async function bundlePage(script: string): Promise<Blob> {
  const entrypoints = [join(import.meta.dir, script)]
  const { outputs } = await Bun.build({ entrypoints, target: 'browser' })
  return new Blob([await outputs[0]!.text()], { type: 'text/javascript' })
}
