/** A style of text, with its number in a terminal (ECMA-48 §8.3.117). */
const STYLES = { bold: 1, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof STYLES

/**
 * `text` between marks, which `withColors` turns into escape sequences or removes. The marks are
 * noncharacters (Unicode §23.7), so escape sequences in texts of other people can stay forbidden.
 */
export function styled(style: Style, text: string): string {
  return text === '' ? '' : `${OPENING}${STYLES[style]};${text}${CLOSING}`
}

/** `styled` text for a terminal, or without its styles. */
export function withColors(text: string, isColored: boolean): string {
  return text
    .replaceAll(OPENED, (_, number: string) => (isColored ? `\u001b[${number}m` : ''))
    .replaceAll(CLOSING, isColored ? '\u001b[0m' : '')
}

const OPENING = '\ufdd0'
const CLOSING = '\ufdd1'
const OPENED = /\ufdd0(\d+);/g

/**
 * True if an output gets colours: a terminal that knows them, unless the variables of the user say
 * otherwise (no-color.org, force-color.org).
 */
export function wantsColors(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM = 'dumb' } = environment
  if (NO_COLOR !== '') return false
  if (FORCE_COLOR !== '') return !['0', 'false'].includes(FORCE_COLOR)
  return isTerminal && TERM !== 'dumb'
}
