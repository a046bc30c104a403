import { relative } from 'node:path'
import process from 'node:process'

/** The words of a shell that run this program: `satchel`, `npx satchel`, or its path, from the present folder if `isHere`. */
export function programName({ isHere = false } = {}): string {
  const { execPath } = process
  // Bun with the source has no name of its own.
  if (!Bun.main.startsWith('/$bunfs/') || Bun.which('satchel') === execPath) return 'satchel'
  // npx keeps packages in a folder of its own, whose name is long.
  if (/\/node_modules\/@?satchel\//.test(execPath)) return 'npx satchel'
  const path = relative('.', execPath)
  return !isHere || path.startsWith('..') ? execPath : `./${path}`
}
