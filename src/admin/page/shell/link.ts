/** The code of a pasted link, or the text itself when it is only the code. */
export function readLink(text: string): string {
  return text.trim().split('#').at(-1) ?? ''
}
