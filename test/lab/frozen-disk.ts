import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { mayMount } from '../small-disk'

/** True where a disk can be frozen: everything that writes to it hangs until it thaws. */
export function canFreeze(): boolean {
  return mayMount && ['mkfs.ext4', 'fsfreeze'].every((name) => Bun.which(name) !== null)
}

/** A disk of its own in a file. Disposing it thaws it. */
export interface FreezableDisk extends Disposable {
  readonly path: string
  freeze(): void
  thaw(): void
}

export function mountFreezableDisk(mebibytes: number): FreezableDisk {
  const folder = temporaryFolder()
  const image = join(folder.path, 'image')
  const path = join(folder.path, 'disk')
  writeFileSync(image, '')
  truncateSync(image, mebibytes * 1024 * 1024)
  mkdirSync(path)
  run('mkfs.ext4', '-q', image)
  run('mount', '-o', 'loop', image, path)
  let isFrozen = false
  const thaw = () => {
    if (isFrozen) run('fsfreeze', '-u', path)
    isFrozen = false
  }
  return {
    path,
    freeze() {
      run('fsfreeze', '-f', path)
      isFrozen = true
    },
    thaw,
    [Symbol.dispose]() {
      thaw()
      run('umount', '-l', path)
      folder[Symbol.dispose]()
    },
  }
}

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command)
  if (!success) throw new Error(`${command.join(' ')}: ${stderr.toString()}`)
}
