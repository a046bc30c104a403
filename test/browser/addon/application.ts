import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A web application with the published add-on (`page.js`), at another address than the server. */
export interface Application extends Disposable {
  readonly url: string
}

const bundles = new Map<string, Promise<Blob>>()

/**
 * Of the database at this address; `script` is the file of the application in this folder, and `addon` the
 * package that it has as its add-on.
 */
export async function serveApplication(
  databaseUrl: string,
  script = 'page.js',
  addon = ADDON,
): Promise<Application> {
  const [code, worker] = await Promise.all([bundled(script, addon), bundled('worker.js', addon)])
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

const ADDON = 'dexie-cloud-addon'

function bundled(script: string, addon: string): Promise<Blob> {
  const name = `${script} ${addon}`
  const bundle = bundles.get(name) ?? bundlePage(script, addon)
  bundles.set(name, bundle)
  return bundle
}

async function bundlePage(script: string, addon: string): Promise<Blob> {
  const entrypoints = [join(import.meta.dir, script)]
  const path = fileURLToPath(import.meta.resolve(addon))
  const plugin: Bun.BunPlugin = {
    name: 'add-on',
    setup: (build) => void build.onResolve({ filter: /^dexie-cloud-addon$/ }, () => ({ path })),
  }
  const plugins = addon === ADDON ? [] : [plugin]
  const { outputs } = await Bun.build({ entrypoints, target: 'browser', plugins })
  return new Blob([await outputs[0]!.text()], { type: 'text/javascript' })
}
