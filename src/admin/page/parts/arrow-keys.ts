/** Where each key goes from the row `at` of so many. */
const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => Math.min(at + 1, count - 1),
  ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** The link or button that opens a row. */
const ROW = '.row-button, .list-row, nav a'

/** Moves the focus from row to row; for the list that holds them. */
export function moveByArrows(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = STEPS[event.key]
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>(ROW)]
  const at = rows.findIndex((row) => row === event.target)
  if (step === undefined || at === -1) return
  event.preventDefault()
  rows[step(at, rows.length)]?.focus()
}
