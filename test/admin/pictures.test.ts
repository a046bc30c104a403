import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { guidePage } from '../../src/http/pages/guide-page'

const ROOT = join(import.meta.dir, '..', '..')
const PICTURES = join(ROOT, 'docs', 'pictures')

test('every picture is in a guide, and has less than 150 kB', () => {
  const guides = ['README.md', 'docs/admin.md'].map((path) =>
    readFileSync(join(ROOT, path), 'utf8'),
  )
  const named = guides.flatMap((text) => [...text.matchAll(/pictures\/([\w-]+\.png)\)/g)])
  const files = readdirSync(PICTURES)
  expect([...new Set(named.map(([, name = '']) => name))].toSorted()).toEqual(files.toSorted())
  for (const name of files) expect(statSync(join(PICTURES, name)).size).toBeLessThan(150_000)
})

test('the guides of a server have no pictures, which it would not send', () => {
  for (const page of [guidePage(), guidePage('admin')]) expect(page).not.toContain('<img')
})
