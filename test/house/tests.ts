import { parseSync } from 'oxc-parser'

/** Tests without an assertion in sight, and files with a test that compares a time with a number. */
export async function findBadTests(): Promise<string[]> {
  const faults: string[] = []
  for (const path of [...new Bun.Glob('test/**/*.ts').scanSync('.')].toSorted()) {
    if (/^test\/(?:bench|lab|house)\//.test(path)) continue
    const text = await Bun.file(path).text()
    for (const { name, body } of testsIn(path, text)) {
      if (!/\b(?:expect|assert)/.test(body)) faults.push(`${path}: ${name} asserts nothing`)
    }
    // A number that holds on one machine fails on the next.
    if (isTimed(text)) faults.push(`${path}: a time is compared with a number: use the benchmark`)
  }
  return faults
}

function isTimed(text: string): boolean {
  const times = [
    ...text.matchAll(/const (\w+) = (?:performance\.now\(\)|Bun\.nanoseconds\(\)) - /g),
  ]
  const names = ['performance\\.now\\(\\)', ...times.map(([, name]) => `\\b${name}\\b`)]
  return new RegExp(`expect\\([^/\\n]*(?:${names.join('|')})[^/\\n]*\\)\\.to\\w+\\(`).test(text)
}

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
