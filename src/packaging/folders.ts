import { join } from 'node:path'

export const ROOT = join(import.meta.dir, '..', '..')
/** Everything that is made is here. */
export const DIST = join(ROOT, 'dist')
