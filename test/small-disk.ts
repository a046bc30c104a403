import { temporaryFolder } from './setup'

/** Only root may mount. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0

/** A disk of its own, in memory. */
export interface SmallDisk extends Disposable {
  readonly path: string
  grow(size: string): void
  /** From now on nothing can be written to it. */
  makeReadOnly(): void
}

/** `files`: how many it can have. */
export function mountSmallDisk(size: string, files = 100_000): SmallDisk {
  const folder = temporaryFolder()
  const options = `size=${size},nr_inodes=${files}`
  run('mount', '-t', 'tmpfs', '-o', options, 'tmpfs', folder.path)
  return {
    path: folder.path,
    grow: (larger) => run('mount', '-o', `remount,size=${larger}`, folder.path),
    makeReadOnly: () => run('mount', '-o', 'remount,ro', folder.path),
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
