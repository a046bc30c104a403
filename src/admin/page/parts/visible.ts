/** Controls, marks of direction and halves of pairs: they are not seen, or change the order of others. */
const UNSEEN = /(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/gu

/** Text of others with unseen characters in a form that is seen, which JSON reads as the same text: `\u202e`. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (sign) =>
    // Units, of which a character beyond U+FFFF has two.
    Array.from(sign.split(''), (unit) => {
      return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
    }).join(''),
  )
}
