/** The items whose names have all letters of `text` in this order, the best first: beginnings, parts, then others. */
export function rank<T>(text: string, items: readonly T[], nameOf: (item: T) => string): T[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return [...items]
  return items
    .map((item) => ({ item, score: scoreOf(wanted, nameOf(item).toLowerCase()) }))
    .filter(({ score }) => score < NONE)
    .toSorted((one, other) => one.score - other.score)
    .map(({ item }) => item)
}

const NONE = 4

function scoreOf(wanted: string, name: string): number {
  if (name === wanted) return 0
  if (name.startsWith(wanted)) return 1
  if (name.includes(wanted)) return 2
  let from = 0
  for (const letter of wanted) {
    const at = name.indexOf(letter, from)
    if (at === -1) return NONE
    from = at + 1
  }
  return 3
}
