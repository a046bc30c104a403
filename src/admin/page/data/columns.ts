/** An object of a page of a table. */
export interface Row {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly revision: number
  /** ms since the epoch. */
  readonly updated: number
  /** In characters. */
  readonly size: number
  /** Null when it is very large, or damaged. */
  readonly value: Readonly<Record<string, unknown>> | null
  /** The names of large properties that `value` lacks. */
  readonly cut: readonly string[]
  readonly isDamaged: boolean
}

/** Shown in columns of their own, or of no interest. */
const LEFT_OUT = new Set(['realmId', 'owner', '$ts', '_hasBlobRefs'])
/** The most columns that are shown before somebody chooses others. */
export const FIRST_COLUMNS = 7
/** Objects that are looked at for names. */
export const LOOKED_AT = 200

/** The names of the properties of these objects, those that most objects have first. */
export function columnsOf(rows: readonly Row[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { key, value, cut } of rows.slice(0, LOOKED_AT)) {
    for (const name of [...Object.keys(value ?? {}), ...cut]) {
      const isKey = value !== null && Object.hasOwn(value, name) && value[name] === key
      if (!LEFT_OUT.has(name) && !(isKey && /^id$|key/i.test(name))) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    }
  }
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([name]) => name)
}

const NARROWEST = 84
const WIDEST = 300
const CHARACTER = 7.8
const PADDING = 26

/** A width for texts of these lengths, px: that of the longest of nine in ten, empty ones apart. */
export function widthFor(lengths: readonly number[], header: number): number {
  const sorted = lengths.filter((length) => length > 0).toSorted((one, other) => one - other)
  const most = sorted[Math.ceil((sorted.length - 1) * 0.9)] ?? 0
  const width = Math.max(most, header) * CHARACTER + PADDING
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)))
}
