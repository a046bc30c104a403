import { dirname } from 'node:path'
import { percentile } from '../bench/statistics'
import type { Source } from './sources'

/** How large the source files are and how they hang together. */
export interface Shape {
  readonly files: number
  readonly median: number
  readonly p90: number
  readonly max: number
  /** The largest file. */
  readonly largest: string
  /** Files that exactly one other file imports. */
  readonly oneImporter: readonly string[]
  /** Groups of files that reach each other, without and with imports of types. */
  readonly cycles: readonly (readonly string[])[]
  readonly cyclesWithTypes: readonly (readonly string[])[]
  /** Imports from one folder of `src/domain` to another, as `object → access`. */
  readonly betweenFolders: ReadonlyMap<string, number>
}

export function measureShape(sources: readonly Source[]): Shape {
  const lines = sources.map((source) => source.lines)
  const max = Math.max(...lines)
  const importers = new Map<string, number>()
  for (const { imports } of sources) {
    for (const { path } of imports) importers.set(path, (importers.get(path) ?? 0) + 1)
  }
  return {
    files: sources.length,
    median: percentile(lines, 0.5),
    p90: percentile(lines, 0.9),
    max,
    largest: sources.find((source) => source.lines === max)?.path ?? '',
    oneImporter: [...importers].filter(([, count]) => count === 1).map(([path]) => path),
    cycles: findCycles(sources, ({ isType }) => !isType),
    cyclesWithTypes: findCycles(sources, () => true),
    betweenFolders: countBetweenFolders(sources),
  }
}

/** Groups of two or more files each of which reaches every other one (Tarjan's algorithm). */
function findCycles(
  sources: readonly Source[],
  counts: (each: Source['imports'][number]) => boolean,
): string[][] {
  const importsByPath = new Map(
    sources.map(({ path, imports }) => [path, imports.filter(counts).map((each) => each.path)]),
  )
  const order = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []

  function visit(path: string): number {
    const number = order.size
    order.set(path, number)
    open.push(path)
    let low = number
    for (const next of importsByPath.get(path) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next))
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? low)
    }
    if (low === number) {
      const group = open.splice(open.indexOf(path))
      if (group.length > 1) cycles.push(group.toSorted())
    }
    return low
  }

  for (const { path } of sources) if (!order.has(path)) visit(path)
  return cycles
}

const DOMAIN = 'src/domain'

function countBetweenFolders(sources: readonly Source[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { path, imports } of sources) {
    for (const imported of imports) {
      const [from, to] = [folderOf(path), folderOf(imported.path)]
      if (from === undefined || to === undefined || from === to) continue
      const arrow = `${from} → ${to}`
      counts.set(arrow, (counts.get(arrow) ?? 0) + 1)
    }
  }
  return new Map([...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** The folder of `src/domain` that a file is in; `domain` for those in none. */
function folderOf(path: string): string | undefined {
  const folder = dirname(path)
  if (folder === DOMAIN) return 'domain'
  return folder.startsWith(`${DOMAIN}/`) ? folder.slice(DOMAIN.length + 1).split('/')[0] : undefined
}
