import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseSync } from 'oxc-parser'

/**
 * Preloaded into a server: notes the functions whose bodies ran. The parent sends `clear`, or `tell` to get
 * them, each as the path of its file and its position there: `src/main.ts#120`.
 */

const root = process.env['HOUSE_ROOT'] ?? process.cwd()
const source = join(root, 'src')
const entered = new Set<string>()

Object.assign(globalThis, { enteredFunction: (name: string) => entered.add(name) })

process.on('message', (message) => {
  if (message === 'clear') entered.clear()
  else process.send?.([...entered])
})

Bun.plugin({
  name: 'entered functions',
  setup(build) {
    // Synchronous: a file that `require` loads cannot wait.
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const isOurs = path.startsWith(`${source}/`)
      return { contents: isOurs ? instrument(relative(root, path), text) : text, loader: 'ts' }
    })
  },
})

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Puts a call in front of the body of every function. */
function instrument(path: string, text: string): string {
  const call = (at: number) => `enteredFunction(${JSON.stringify(`${path}#${at}`)})`
  const insertions: { readonly at: number; readonly text: string }[] = []

  function walk(value: unknown): void {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isNode(value)) return
    const { body } = value as Node & { readonly body?: unknown }
    if (/^(?:Arrow)?Function/.test(value.type) && isNode(body)) {
      const isBlock = body.type === 'BlockStatement' || body.type === 'FunctionBody'
      if (isBlock) {
        insertions.push({ at: body.start + 1, text: `${call(body.start)};` })
      } else {
        insertions.push(
          { at: body.start, text: `(${call(body.start)},` },
          { at: body.end, text: ')' },
        )
      }
    }
    for (const child of Object.values(value)) walk(child)
  }

  walk(parseSync(path, text).program)
  let result = text
  for (const { at, text: added } of insertions.toSorted((one, other) => other.at - one.at)) {
    result = result.slice(0, at) + added + result.slice(at)
  }
  return result
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
