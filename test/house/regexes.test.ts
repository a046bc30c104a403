import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { checkSync } from 'recheck'

const ROOT = join(import.meta.dir, '..', '..')

/** Expressions that are put together, by their file, as they are then. */
const BUILT: Readonly<Record<string, { readonly pattern: string; readonly flags: string }>> = {
  'src/domain/value/fold.ts': { pattern: '[äöü]', flags: 'gu' },
  'src/http/routes/oauth.ts': { pattern: '(?:^|; *)name=([\\w-]{43})(?:;|$)', flags: '' },
}

/** Work is counted and not timed: a match that takes long on a busy machine would be called dangerous. */
const PATIENT = {
  timeout: 300_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  randomSeed: 0,
}

interface Expression {
  readonly path: string
  readonly pattern: string
  readonly flags: string
}

// A header of 15,000 blanks would stop all other callers for a third of a second.
test('no regular expression of the server takes more than linear time', async () => {
  const found: Expression[] = []
  const built: string[] = []

  function walk(path: string, node: unknown): void {
    if (Array.isArray(node)) return node.forEach((each) => walk(path, each))
    if (typeof node !== 'object' || node === null) return
    const { type, regex, callee } = node as {
      type?: string
      regex?: Omit<Expression, 'path'>
      callee?: { name?: string }
    }
    if (regex !== undefined && regex !== null) found.push({ path, ...regex })
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') {
      built.push(path)
    }
    for (const member of Object.values(node)) walk(path, member)
  }

  for (const path of [...new Bun.Glob('src/**/*.ts').scanSync(ROOT)].toSorted()) {
    // The build reads nothing that a stranger has sent.
    if (path.startsWith('src/packaging/')) continue
    walk(path, parseSync(path, await Bun.file(join(ROOT, path)).text()).program)
  }
  expect(found.length).toBeGreaterThan(100)
  expect(built).toEqual(Object.keys(BUILT))
  found.push(...built.map((path) => ({ path, ...BUILT[path]! })))
  const dangerous = found.filter(({ pattern, flags }) => {
    return checkSync(pattern, flags, PATIENT).status !== 'safe'
  })
  expect(dangerous).toEqual([])
}, 400_000)

test('the check of regular expressions finds a quadratic one', () => {
  expect(checkSync(String.raw`^ +| +$`, 'g', PATIENT).status).toBe('vulnerable')
  expect(checkSync(String.raw`(a+)+$`, '', PATIENT).status).toBe('vulnerable')
})
