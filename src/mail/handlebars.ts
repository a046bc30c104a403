/** Fills in a template. */
export type Fill = (variables: Readonly<Record<string, unknown>>) => string

const compiled = new Map<string, Fill>()
/** Six for each database: enough for twenty that send at the same time. */
const REMEMBERED = 120

/**
 * Compiles a template. In text nothing is escaped: two braces there have the meaning of three in
 * HTML. Throws for a template with a mistake.
 */
export async function compile(content: string, format: 'text' | 'html'): Promise<Fill> {
  const name = `${format} ${content}`
  const known = compiled.get(name)
  if (known !== undefined) return known
  const handlebars = await load()
  const fill = handlebars.compile(content, {
    noEscape: format === 'text',
    // An unknown helper is a mistake, not a missing variable.
    knownHelpersOnly: true,
  })
  if (compiled.size >= REMEMBERED) compiled.clear()
  compiled.set(name, fill)
  return fill
}

/** The fault of a template with these variables, or with none; undefined when there is none. */
export async function findMistake(
  content: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  try {
    const fill = await compile(content, 'html')
    fill({})
    fill(variables)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A separate environment, without partials and helpers that other code registers. */
async function load() {
  // Loaded here: few processes send mails, and every process starts.
  const { default: Handlebars } = await import('handlebars')
  const handlebars = Handlebars.create()
  // It would write to the output of the process.
  handlebars.unregisterHelper('log')
  return handlebars
}
