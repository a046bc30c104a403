import type { AdminFile } from './bundle'
import { readFiles } from './embedded'

/** The files of the page for administrators. */
export interface AdminAssets {
  /** By name: `index.html` is the page, the others are below `/admin/assets/`. */
  file(name: string): AdminFile | undefined
}

let loading: Promise<AdminAssets> | undefined

/** Reads the files at the first call. */
export function adminAssets(): Promise<AdminAssets> {
  loading ??= load()
  return loading
}

async function load(): Promise<AdminAssets> {
  const files = new Map((await readFiles()).map((file) => [file.name, file]))
  return { file: (name) => files.get(name) }
}
