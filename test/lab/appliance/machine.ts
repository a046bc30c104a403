import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DIST } from '../../../src/packaging/folders'
import { until } from '../../timing'
import { output, type Tool } from './tools'

/** The programs that a machine needs, as root. */
export const MACHINE_TOOLS: readonly Tool[] = ['mmdebstrap', 'nsenter', 'systemd-nspawn']

const FOLDER = join(DIST, 'lab')
/** A Debian with systemd and nothing that is not needed for it. It is made once. */
const IMAGE = join(FOLDER, 'debian-12.tar')

/** A Debian that systemd has booted, with a network of its own that leads nowhere. */
export interface Machine extends AsyncDisposable {
  /** Its file system. */
  readonly root: string
  /** Runs a shell script as its root and returns the output. Throws when it fails. */
  sh(script: string): Promise<string>
  /** Copies a file into its folder `/root`; returns the path there. */
  give(path: string): Promise<string>
}

export async function bootMachine(): Promise<Machine> {
  const image = await makeImage()
  await using undo = new AsyncDisposableStack()
  const root = await mkdtemp(join(FOLDER, 'machine-'))
  undo.defer(() => rm(root, { recursive: true, force: true }))
  await output(['tar', '--extract', '--exclude=./dev/*', '--file', image, '--directory', root])
  const options = ['--quiet', '--private-network', '--register=no', '--keep-unit']
  const nspawn = Bun.spawn(['systemd-nspawn', ...options, '--directory', root, '--boot'], {
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  undo.defer(async () => {
    nspawn.kill('SIGKILL')
    await nspawn.exited
  })
  const sh = async (script: string) => {
    const init = await childOf(nspawn.pid)
    const enter = ['nsenter', '--target', init, '--all', '--wdns=/']
    return await output([...enter, '/bin/sh', '-ec', script])
  }
  await until(async () => {
    const state = await sh('systemctl is-system-running || true').catch(() => '')
    return ['running\n', 'degraded\n'].includes(state)
  })
  const parts = undo.move()
  return {
    root,
    sh,
    async give(path) {
      const name = `/root/${basename(path)}`
      await cp(path, join(root, name))
      return name
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** The first process within. Not remembered: before it there is another child for a moment. */
export async function childOf(pid: number): Promise<string> {
  const children = await Bun.file(`/proc/${pid}/task/${pid}/children`).text()
  return children.trim().split(' ')[0] ?? ''
}

/** The path of an archive with the file system of a Debian. */
export async function makeImage(): Promise<string> {
  if (existsSync(IMAGE)) return IMAGE
  await mkdir(FOLDER, { recursive: true })
  const draft = `${IMAGE}.draft.tar`
  const packages = '--include=systemd,systemd-sysv,ca-certificates'
  await output(['mmdebstrap', '--variant=minbase', packages, 'bookworm', draft])
  await rename(draft, IMAGE)
  return IMAGE
}
