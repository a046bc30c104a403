import { join } from 'node:path'

/** True where a layer between a program and the kernel can be compiled and loaded. */
export function canLoadLayer(): boolean {
  return process.platform === 'linux' && Bun.which('gcc') !== null
}

/** Compiles a layer for `LD_PRELOAD`. Returns its file. */
export function compileLayer(folder: string, name: 'power-loss' | 'failing-calls'): string {
  const library = join(folder, `${name}.so`)
  const source = join(import.meta.dir, `${name}.c`)
  const { success, stderr } = Bun.spawnSync([
    'gcc',
    '-shared',
    '-fPIC',
    '-O2',
    '-o',
    library,
    source,
    '-ldl',
  ])
  if (!success) throw new Error(`gcc: ${stderr.toString()}`)
  return library
}
