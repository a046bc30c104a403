import { expect, test } from 'bun:test'
import { adminAssets } from '../../src/admin/assets'

const assets = await adminAssets()
const file = (name: string) => assets.file(name)
const decoder = new TextDecoder()
const textOf = (name: string) =>
  decoder.decode(Bun.gunzipSync(file(name)?.bytes ?? new Uint8Array()))

const html = textOf('index.html')
const named = [...html.matchAll(/admin\/assets\/([^"]+)"/g)].map(([, name = '']) => name)

test('the page names its script, style and icon by a hash of their content', () => {
  expect(file('index.html')).toMatchObject({ type: 'text/html;charset=utf-8', isImmutable: false })
  expect(named.map((name) => name.replace(/-[^.]+/, '')).toSorted()).toEqual([
    'icon.svg',
    'main.js',
    'style.css',
  ])
  for (const name of named) expect(file(name)).toMatchObject({ isImmutable: true })
})

test('nothing of the page is inline, and it has no map of its sources', () => {
  expect(html).not.toMatch(/<style|style=|<script(?! type="module" src=)/)
  for (const name of named) expect(textOf(name)).not.toContain('sourceMappingURL')
})

test('the first page has at most 40 kB', () => {
  const loaded = new Set(['index.html', ...named])
  for (const name of loaded) {
    const imports = textOf(name).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)
    for (const [, part = ''] of imports) loaded.add(part)
  }
  const sizes = [...loaded].map((name) => file(name)?.bytes.length ?? Number.NaN)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(40_000)
})

test('an unknown name is no file', () => {
  expect(file('__proto__')).toBeUndefined()
  expect(file('../assets.ts')).toBeUndefined()
})
