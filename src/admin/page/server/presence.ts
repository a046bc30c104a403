/** A page that asks by itself would keep its session open for ever. */
const STAYS_MS = 5 * 60_000

let lastSign = Date.now()
for (const type of ['pointerdown', 'pointermove', 'keydown', 'focus'] as const) {
  addEventListener(type, () => (lastSign = Date.now()), { passive: true, capture: true })
}

/** True while the page is seen and a person used it a short time ago. */
export function isPersonHere(): boolean {
  return !document.hidden && Date.now() - lastSign < STAYS_MS
}
