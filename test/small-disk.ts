import { temporaryFolder } from './setup'

/** Only root may mount. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0

/** A disk of its own, in memory. */
export interface SmallDisk extends Disposable {
  readonly path: string
  grow(size: string): void
}

export function mountSmallDisk(size: string): SmallDisk {
  const folder = temporaryFolder()
  run('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder.path)
  return {
    path: folder.path,
    grow: (larger) => run('mount', '-o', `remount,size=${larger}`, folder.path),
    [Symbol.dispose]() {
      run('umount', '-l', folder.path)
      folder[Symbol.dispose]()
    },
  }
}

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command)
  if (!success) throw new Error(`${command.join(' ')}: ${stderr.toString()}`)
}
