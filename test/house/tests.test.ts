import { expect, test } from 'bun:test'
import { parseSync } from 'oxc-parser'

/** Test files of the whole repository, by path. */
const texts = new Map<string, string>()
for (const path of new Bun.Glob('test/**/*.ts').scanSync('.')) {
  if (/^test\/(?:bench|lab|house)\//.test(path)) continue
  texts.set(path, await Bun.file(path).text())
}

test('every test has an assertion in sight', () => {
  const silent = [...texts].flatMap(([path, text]) =>
    testsIn(path, text)
      .filter(({ body }) => !/\b(?:expect|assert)/.test(body))
      .map(({ name }) => `${path}: ${name}`),
  )
  expect(silent).toEqual([])
})

// Speed is judged by the benchmark: a number that holds on one machine fails on the next.
test('no test compares the time that something takes with a number', () => {
  const timed = [...texts].flatMap(([path, text]) => {
    const times = [
      ...text.matchAll(/const (\w+) = (?:performance\.now\(\)|Bun\.nanoseconds\(\)) - /g),
    ]
    const names = ['performance\\.now\\(\\)', ...times.map(([, name]) => `\\b${name}\\b`)]
    const compared = new RegExp(`expect\\([^/\\n]*(?:${names.join('|')})[^/\\n]*\\)\\.to\\w+\\(`)
    return compared.test(text) ? [path] : []
  })
  expect(timed).toEqual([])
})

interface Found {
  readonly name: string
  readonly body: string
}

/** The calls of `test` with a function beside the name. */
function testsIn(path: string, text: string): Found[] {
  const found: Found[] = []
  const textOf = ({ start, end }: Node) => text.slice(start, end)
  function walk(value: unknown): void {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isNode(value)) return
    if (value.type === 'CallExpression' && value.callee && value.arguments) {
      const body = value.arguments.find(({ type }) => type.includes('Function'))
      const [name] = value.arguments
      if (name && body && /^test\b/.test(textOf(value.callee))) {
        found.push({ name: textOf(name), body: textOf(body) })
      }
    }
    for (const child of Object.values(value)) walk(child)
  }
  walk(parseSync(path, text).program)
  return found
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly callee?: Node
  readonly arguments?: readonly Node[]
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
