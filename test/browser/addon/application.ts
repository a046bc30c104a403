import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { answerSync } from '../../conformance/addon/sync-stand-in'

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

/** The add-on syncs before it repeats a login, and does not log in while that fails. */
export async function answerSyncs(page: Page, scene: { main: string; url: string }): Promise<void> {
  await page.route(`${scene.main}/sync`, async (route) => {
    const request = route.request()
    const [headers, body] = [await request.allHeaders(), request.postData()]
    const answer = await answerSync(scene.main, { headers, body })
    await route.fulfill({
      status: answer.status,
      body: await answer.text(),
      headers: {
        'access-control-allow-origin': new URL(scene.url).origin,
        'access-control-allow-credentials': 'true',
      },
    })
  })
}

async function bundlePage(): Promise<Blob> {
  const entrypoints = [join(import.meta.dir, 'page.js')]
  const { outputs } = await Bun.build({ entrypoints, target: 'browser' })
  return new Blob([await outputs[0]!.text()], { type: 'text/javascript' })
}
