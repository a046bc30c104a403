import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..', '..')
const FILES = ['*.md', '*.ts', '{src,test,docs,migrations}/**/*.{ts,sql,md,html,handlebars,js,c}']
const THIS_FILE = 'test/house/words.ts'

/** The beginning of a sentence, a clause after a colon or a semicolon, or a text. */
const START = String.raw`(?:^|[.!;:(]\s|\\n|['"\`*|>]\s?)(?:[Oo]nly )?`
/** The rest of a sentence that is no question. */
const STATEMENT = String.raw`(?![^.?!]*\?)`
/** Verbs and pronouns after which “what” is a subject, not an interrogative with a noun. */
const VERB = [
  'is|are|was|were|has|had|can|may|must|does|did|gets|got|came|comes|goes|went|lies|lay|stays',
  'stayed|happens|happened|remains|counts|becomes|became|ends|ended|makes|made|follows|needs',
  'belongs|leads|says|said|tells|holds|keeps|kept|gives|gave|stands|stood|waits|fails|failed',
  'answers|answered|nobody|nothing|somebody|anybody|everybody|what',
].join('|')
const BEFORE = 'for|of|by|to|from|with|as|not|only|at|than|on'

const RULES: readonly (readonly [pattern: RegExp, better: string])[] = [
  [
    /\bwho(?:m)?(?:so)?ever\b/gi,
    'name the subject: “any user who …”, “every caller”, “a newcomer”',
  ],
  [
    new RegExp(String.raw`${START}[Ww]ho\b(?!\s?[?,})\]])(?! is deactivated \|)${STATEMENT}`, 'g'),
    'begin with the subject: “A caller who …”, “Members”',
  ],
  [
    new RegExp(String.raw`\b(?:${BEFORE}) who\b`, 'g'),
    'name the person: “for users who …”, “of the caller”',
  ],
  [
    new RegExp(String.raw`${START}[Ww]hat (?:${VERB})\b${STATEMENT}`, 'g'),
    'begin with a noun: “The answer to …”, “Unknown properties”',
  ],
  [
    new RegExp(String.raw`(?:\b(?:${BEFORE}|in|but)|,) what (?:${VERB})\b`, 'g'),
    'name the thing: “of the objects that …”, “stored data”',
  ],
  [/\bNobody [a-z]/g, 'say what holds: “No caller may …”, “Nothing reads …”, “Anonymous callers”'],
  [/\bis nobody\b|\bnobody['’]s\b/gi, '“anonymous”, “unowned”, “no user’s”'],
  [/\bfound(?:s|ed|ing)? (?:a|the|their|her|his|its) (?:own )?realm/gi, '“creates a realm”'],
  [/\b(?:let|lets|letting) go of\b/gi, '“releases”, “closes”'],
  [/\b(?:is|are|was) no length\b/gi, '“must be a non-negative integer”'],
  [/\b(?:is|are|was|one) of ours\b/gi, '“made by this server”, “from the previous Link header”'],
  [/\bthat which\b|\bis had\b/gi, 'name the thing'],
  [/\bsends? elsewhere\b/gi, '“redirects”'],
  [/\b(?:come|comes|came|bring|brings|brought) (?:it )?(?:in)?to life\b/gi, '“is created”'],
  [/\bmay come in\b/gi, '“may sign up”, “is admitted”'],
]

/**
 * Where comments, messages and test names are not plain English. The subject comes first, no clause begins with
 * “who”, “whoever” or “what” as its subject, and the words are those of the field. A rule matches only what is
 * certainly wrong; its text says what to write instead.
 */
export function findWords(): string[] {
  return FILES.flatMap((glob) => [...new Bun.Glob(glob).scanSync({ cwd: ROOT })])
    .filter((path) => path !== THIS_FILE)
    .toSorted()
    .flatMap((path) =>
      textsOf(readFileSync(join(ROOT, path), 'utf8')).flatMap(({ line, text }) =>
        faultsOf(text).map((fault) => `${path}:${line}: ${fault}`),
      ),
    )
}

/** Each match of a rule with its surroundings and the advice. */
function faultsOf(text: string): string[] {
  return RULES.flatMap(([pattern, better]) =>
    [...text.matchAll(pattern)].map(({ index }) => {
      const near = text.slice(Math.max(index - 30, 0), index + 50)
      return `“…${near}…”: ${better}`
    }),
  )
}

/** Each comment of a file as one text, and each other line, with line numbers from 1. */
function textsOf(source: string): { readonly line: number; text: string }[] {
  const texts: { readonly line: number; text: string }[] = []
  let isOpen = false
  for (const [index, raw] of source.split('\n').entries()) {
    const [, comment] = /^\s*(?:\/\*\*?|\*\/?|\/\/|--)(?:\s|$)(.*)$/.exec(raw) ?? []
    const last = texts.at(-1)
    if (comment === undefined) texts.push({ line: index + 1, text: raw.trim() })
    else if (isOpen && last !== undefined && !/^\s*\/\*/.test(raw)) last.text += ` ${comment}`
    else texts.push({ line: index + 1, text: comment })
    isOpen = comment !== undefined && !comment.endsWith('*/')
  }
  return texts
}
