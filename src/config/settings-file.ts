import { parse, type ParseError, printParseErrorCode } from 'jsonc-parser'

/** Parses JSON with comments and commas at the end, or says what the first mistake is and where. */
export function parseSettings(text: string): {
  readonly parsed: unknown
  readonly mistake?: string
} {
  const mistakes: ParseError[] = []
  const parsed: unknown = parse(text, mistakes, { allowTrailingComma: true })
  const [mistake] = mistakes
  if (mistake === undefined) return { parsed }
  const before = text.slice(0, mistake.offset).split('\n')
  const position = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
  const reason = MISTAKES[printParseErrorCode(mistake.error)] ?? 'there is a mistake'
  return { parsed, mistake: `${reason} at ${position}` }
}

/** Mistakes in JSON as jsonc-parser names them. */
const MISTAKES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'an unknown word is found',
  InvalidNumberFormat: 'an invalid number is found',
  PropertyNameExpected: 'the name of a setting in quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace is expected',
  CloseBracketExpected: 'a closing bracket is expected',
  EndOfFileExpected: 'the end of the file is expected',
  UnexpectedEndOfComment: 'a comment has no end',
  UnexpectedEndOfString: 'a text has no end',
  InvalidEscapeCharacter: 'an invalid escape is found',
  InvalidCharacter: 'an invalid character is found',
}
