/**
 * Titles of tests name the lines of the conformance checklist that they show: `137, 145: …` in the
 * folders for conformance and HTTP, `… (conformance 137, 145)` and `// conformance.md 42` everywhere.
 * In the same way `… (scenario 6)` names the scenarios of live sync.
 */
const NUMBERS = String.raw`\d+(?:–\d+)?(?:, \d+(?:–\d+)?)*`
const TITLE = new RegExp(
  String.raw`\b(?:test|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*['"\`](${NUMBERS}): `,
  'g',
)
const CONFORMANCE = new RegExp(String.raw`\bconformance(?:\.md)?\`? (${NUMBERS})`, 'g')
const SCENARIO = new RegExp(String.raw`\(scenario (${NUMBERS})\)`, 'g')

/** Lines for collaborative text. */
const EXEMPT = new Set(numbersFrom(146, 158))

/** Lines of the conformance checklist and scenarios of live sync that no test names. */
export async function findUntested(): Promise<string[]> {
  const lines = new Set<number>()
  const scenarios = new Set<number>()
  for (const path of new Bun.Glob('test/**/*.test.ts').scanSync('.')) {
    const text = await Bun.file(path).text()
    if (/^test\/(?:conformance|http)\//.test(path)) collect(text, TITLE, lines)
    collect(text, CONFORMANCE, lines)
    collect(text, SCENARIO, scenarios)
  }
  const isUntested = (number: number) => !lines.has(number) && !EXEMPT.has(number)
  return [
    ...numbersFrom(1, 169)
      .filter(isUntested)
      .map((number) => `no test names line ${number} of the conformance checklist: “${number}: …”`),
    ...numbersFrom(1, 28)
      .filter((number) => !scenarios.has(number))
      .map((number) => `no test names scenario ${number} of live sync: “… (scenario ${number})”`),
  ]
}

function collect(text: string, pattern: RegExp, into: Set<number>): void {
  for (const [, list = ''] of text.matchAll(pattern)) {
    for (const range of list.split(', ')) {
      const [first = 0, last = first] = range.split('–').map(Number)
      for (const number of numbersFrom(first, last)) into.add(number)
    }
  }
}

function numbersFrom(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}
