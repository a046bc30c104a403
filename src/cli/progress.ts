import type { Cli } from './command'

/** Shows how far long work is, until disposed. */
export interface Progress extends Disposable {
  /** `total` is null when it is not known. */
  readonly update: (done: number, total: number | null) => void
}

/** How a number of units is written: `bytes` as `1.5 MB`, anything else as `1,500 objects`. */
type Unit = 'bytes' | 'objects' | 'parts' | 'blobs'

const REDRAW_MS = 100
const WIDTH = 30
const CLEAR_LINE = '\r\u001b[2K'

/** A line on standard error that draws itself again and again; nothing when nobody looks or for programs. */
export function showProgress(
  { terminal, clock }: Cli,
  { json }: { readonly json?: true | undefined },
  unit: Unit,
): Progress {
  if (json || !terminal.isFollowed) return { update() {}, [Symbol.dispose]() {} }
  let drawn = Number.NEGATIVE_INFINITY
  return {
    update(done, total) {
      const now = clock.now()
      if (now - drawn < REDRAW_MS) return
      drawn = now
      terminal.complain(CLEAR_LINE + describe(done, total, unit))
    },
    [Symbol.dispose]() {
      if (drawn !== Number.NEGATIVE_INFINITY) terminal.complain(CLEAR_LINE)
    },
  }
}

function describe(done: number, total: number | null, unit: Unit): string {
  if (total === null) return amount(done, unit)
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(share * WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(WIDTH - full)
  return `${bar} ${Math.floor(share * 100)} %`
}

function amount(count: number, unit: Unit): string {
  if (unit === 'bytes') return `${(count / 1_000_000).toFixed(1)} MB`
  return `${count.toLocaleString('en')} ${unit}`
}
