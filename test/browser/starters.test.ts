import { svelte } from '@sveltejs/vite-plugin-svelte'
import vue from '@vitejs/plugin-vue'
import { expect, test } from 'bun:test'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type PluginOption } from 'vite'
import { systemClock } from '../../src/clock'
import { startSmtp } from '../mail/smtp-server'
import { setupServerAt, temporaryFolder } from '../setup'
import { useChromium } from './chromium'
import { codeOf, logIn } from './guide-page'

const browser = useChromium()

/** Each starter with the file that Vite's template begins with, as the reader has it. */
const STARTERS: Readonly<Record<string, readonly [file: string, main: string, PluginOption[]]>> = {
  React: [
    'App.tsx',
    `import { StrictMode } from 'react'
    import { createRoot } from 'react-dom/client'
    import App from './App.tsx'
    createRoot(document.getElementById('app')!).render(<StrictMode><App /></StrictMode>)`,
    [],
  ],
  Vue: [
    'App.vue',
    `import { createApp } from 'vue'
    import App from './App.vue'
    createApp(App).mount('#app')`,
    [vue()],
  ],
  Svelte: [
    'App.svelte',
    `import { mount } from 'svelte'
    import App from './App.svelte'
    mount(App, { target: document.getElementById('app')! })`,
    [svelte({ configFile: false })],
  ],
}

/** The application that Vite builds of a starter and the database at this address. */
async function serveStarter(framework: string, databaseUrl: string) {
  using undo = new DisposableStack()
  const { path: root } = undo.use(temporaryFolder())
  const [file, main, plugins] = STARTERS[framework] ?? ['', '', []]
  symlinkSync(join(import.meta.dir, '../../node_modules'), join(root, 'node_modules'))
  const code = codeOf('docs/starters.md', `## ${framework}`, `\`src/${file}\`:`)
  writeFileSync(join(root, file), code.replace('http://127.0.0.1:7080/main', databaseUrl))
  writeFileSync(join(root, 'main.tsx'), main)
  const page = '<!doctype html><div id="app"></div><script type="module" src="/main.tsx"></script>'
  writeFileSync(join(root, 'index.html'), page)
  await build({
    root,
    plugins,
    configFile: false,
    logLevel: 'error',
    esbuild: { jsx: 'automatic' },
    build: { minify: false },
  })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      const { pathname } = new URL(url)
      const isAsset = pathname.startsWith('/assets/')
      return new Response(Bun.file(join(root, 'dist', isAsset ? pathname : 'index.html')))
    },
  })
  undo.defer(() => void server.stop(true))
  const parts = undo.move()
  return { url: `http://localhost:${server.port}/`, [Symbol.dispose]: () => parts.dispose() }
}

test.each(Object.keys(STARTERS))('the starter for %s syncs two browsers', async (framework) => {
  await using smtp = await startSmtp()
  const settings = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'app@example.com' }
  await using server = await setupServerAt(systemClock, settings)
  using application = await serveStarter(framework, server.main)
  await using devices = new AsyncDisposableStack()
  const open = async () => {
    const { page } = devices.use(await browser.openDevice())
    await page.goto(application.url)
    await logIn(page, smtp, 'alice@example.com')
    await page.getByText('alice@example.com: in-sync').waitFor()
    return page
  }
  const [one, other] = [await open(), await open()]
  await one.getByPlaceholder('Add an item').fill('Bread')
  await one.keyboard.press('Enter')
  await other.getByLabel('Bread').click()
  await one.locator('input:checked').waitFor()
  expect(await one.getByPlaceholder('Add an item').inputValue()).toBe('')
  await one.getByLabel('Bread').click()
  await other.locator('input[type=checkbox]:not(:checked)').waitFor()
  expect(await other.locator('label').count()).toBe(1)
})
