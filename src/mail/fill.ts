/** Fills in a template. Throws an `Error` that says what is wrong with it. */
export type Fill = (variables: Readonly<Record<string, unknown>>) => string

/** The size of a template, in bytes. */
export const MAX_TEMPLATE_BYTES = 128 * 1024
/** The length of all tags `{{…}}` together, in characters: reading and compiling them is slow. */
const MAX_TAG_CHARACTERS = 8 * 1024
/** So deep are blocks and expressions in each other: each level may repeat what is in it. */
const MAX_DEPTH = 32
/** So many variables are looked up, and repetitions made, to fill in one template. */
const MAX_STEPS = 50_000
/** So long is a template at most once it is filled in, in characters. */
const MAX_LENGTH = 1024 * 1024

const compiled = new Map<string, Fill>()
/** Six for each database: enough for twenty that send at the same time. */
const MAX_COMPILED_TEMPLATES = 120

/**
 * Compiles a template. In text nothing is escaped: two braces there have the meaning of three in
 * HTML. Throws for a template with a mistake, or one that is too much work.
 */
export async function compile(content: string, format: 'text' | 'html'): Promise<Fill> {
  const name = `${format} ${content}`
  const known = compiled.get(name)
  if (known !== undefined) return known
  if (Buffer.byteLength(content) > MAX_TEMPLATE_BYTES) {
    throw tooMuch(`has more than ${MAX_TEMPLATE_BYTES} bytes`)
  }
  if (tagCharacters(content) > MAX_TAG_CHARACTERS) {
    throw tooMuch(`has tags of more than ${MAX_TAG_CHARACTERS} characters in all`)
  }
  const { handlebars, begin, Visitor } = await load()
  const tree = handlebars.parse(content)
  requireFlat(Visitor, tree)
  const run = handlebars.compile(tree, {
    noEscape: format === 'text',
    // An unknown helper is a mistake, not a missing variable.
    knownHelpersOnly: true,
  })
  const fill: Fill = (variables) => {
    begin()
    return run(variables)
  }
  if (compiled.size >= MAX_COMPILED_TEMPLATES) compiled.clear()
  compiled.set(name, fill)
  return fill
}

/** A tag up to its end. The end may be in a string or a name in brackets, too. */
const TAG = /^(?:"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[[^\]]*\]|[^}"'[]|\}(?!\}))*/

/** The length of all tags but comments. */
function tagCharacters(content: string): number {
  const [, ...pieces] = content.split('{{')
  const tags = pieces.filter((piece) => !piece.startsWith('!'))
  return tags.reduce((sum, piece) => sum + (TAG.exec(piece)?.[0].length ?? 0) + 4, 0)
}

type Environment = typeof Handlebars

function requireFlat(Visitor: Environment['Visitor'], tree: hbs.AST.Program): void {
  let depth = 0
  class Depth extends Visitor {
    override accept(node: hbs.AST.Node): void {
      const isLevel = node?.type === 'Program' || node?.type === 'SubExpression'
      if (!isLevel) return super.accept(node)
      depth += 1
      if (depth > MAX_DEPTH) throw tooDeep()
      super.accept(node)
      depth -= 1
    }
  }
  new Depth().accept(tree)
}

/** A separate environment, without partials and helpers that other code registers; `begin` is called before each run. */
async function load() {
  // Loaded here: few processes send mails, and every process starts.
  const { default: Handlebars } = await import('handlebars')
  const handlebars = Handlebars.create()
  // `{{log}}` would write to the output of the process.
  handlebars.unregisterHelper('log')
  return { handlebars, begin: limitWork(handlebars), Visitor: Handlebars.Visitor }
}

/** The parts of a compiled template: `main`, and the blocks by their numbers, beside other facts. */
type Specification = Record<string, unknown>
type Program = (container: Container, ...rest: unknown[]) => string

/** What programs call for each variable, and for each value that they show. */
interface Container {
  lookupProperty: (parent: unknown, name: string) => unknown
  lambda: (value: unknown, context: unknown) => unknown
}

/**
 * Lets the templates of an environment fail that are too much work for the event loop: in a few hundred bytes, blocks
 * in each other repeat theirs a billion times. Returns the function that begins to count anew.
 */
function limitWork(handlebars: Environment): () => void {
  let steps = 0
  let depth = 0
  let length = 0

  function step(count = 1): void {
    steps += count
    if (steps > MAX_STEPS) throw tooMuch(`takes more than ${MAX_STEPS} steps to fill in`)
  }

  function requireLength(characters: number): void {
    if (characters > MAX_LENGTH) throw tooMuch(`gives more than ${MAX_LENGTH} characters`)
  }

  function shown(value: unknown): unknown {
    step()
    length += typeof value === 'string' ? value.length : String(value).length
    requireLength(length)
    return value
  }

  function watch(container: Container): void {
    const { lookupProperty, lambda } = container
    container.lookupProperty = (parent, name) => {
      step()
      return lookupProperty(parent, name)
    }
    container.lambda = (value, context) => shown(lambda(value, context))
  }

  function limited(specification: Specification): Specification {
    let isWatched = false
    function limit(program: Program): Program {
      return function (this: unknown, container, ...rest) {
        if (!isWatched) watch(container)
        isWatched = true
        step()
        depth += 1
        // Partials may call themselves.
        if (depth > MAX_DEPTH) throw tooDeep()
        const text = program.call(this, container, ...rest)
        requireLength(text.length)
        depth -= 1
        return text
      }
    }
    const entries = Object.entries(specification).map(([name, part]) =>
      /^(?:main|\d+)$/.test(name) ? [name, limit(part as Program)] : [name, part],
    )
    return Object.fromEntries(entries) as Specification
  }

  const { template } = handlebars
  const { each, lookup } = handlebars.helpers
  Object.assign(handlebars, {
    template: (specification: Specification) => template(limited(specification)),
  })
  handlebars.registerHelper('each', function (this: unknown, list: unknown, options) {
    // Also where the block is empty, so that no program runs.
    if (Array.isArray(list)) step(list.length)
    else if (typeof list === 'object' && list !== null) step(Object.keys(list).length)
    return each?.call(this, list, options)
  })
  handlebars.registerHelper('lookup', function (this: unknown, from, name, options) {
    return shown(lookup?.call(this, from, name, options))
  })
  return () => {
    steps = depth = length = 0
  }
}

function tooDeep(): Error {
  return tooMuch(`has more than ${MAX_DEPTH} blocks or expressions in each other`)
}

function tooMuch(what: string): Error {
  return new Error(`it ${what}`)
}
