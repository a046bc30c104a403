import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DIST, ROOT } from '../../../src/packaging/folders'
import { until } from '../../timing'
import { childOf, makeImage } from './machine'
import { missing, output } from './tools'

const lacking = missing(['buildah', 'mmdebstrap', 'nsenter', 'systemd-nspawn'], true)

/** The parts of the description of an image that a runtime obeys. */
interface Image {
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
    readonly Volumes: Readonly<Record<string, object>>
  }
}

test.skipIf(lacking !== undefined)(
  `the container serves as another user than root on a root that is read-only, and tells its health${lacking ?? ''}`,
  async () => {
    await using undo = new AsyncDisposableStack()
    await mkdir(join(DIST, 'lab'), { recursive: true })
    const folder = await mkdtemp(join(DIST, 'lab', 'container-'))
    undo.defer(() => rm(folder, { recursive: true, force: true }))
    const storage = ['--storage-driver=vfs', `--root=${folder}/root`, `--runroot=${folder}/run`]
    const buildah = async (command: string, ...args: readonly string[]) =>
      (await output(['buildah', ...storage, command, ...args], ROOT)).trim()

    // In place of an image from a registry.
    const scratch = await buildah('from', 'scratch')
    await buildah('add', '--quiet', scratch, await makeImage(), '/')
    await buildah('commit', '--quiet', '--format=docker', '--rm', scratch, 'localhost/base')
    const recipe = ['--file=docs/container/Containerfile', '--build-arg=BASE=localhost/base']
    // As root of this machine, without another runtime.
    const build = ['--format=docker', '--isolation=chroot', '--pull=never', '--tag=satchel']
    await buildah('bud', '--quiet', ...build, ...recipe, 'dist')
    const container = await buildah('from', '--pull=never', 'localhost/satchel')
    const root = await buildah('mount', container)
    undo.defer(async () => void (await buildah('umount', container)))
    const described = JSON.parse(await buildah('inspect', container)) as { readonly Docker: Image }
    const { config } = described.Docker
    expect(config.User).toBe('satchel')
    expect(config.Volumes).toEqual({ '/data': {} })

    const data = join(folder, 'data')
    await output(['cp', '--archive', join(root, 'data'), data])
    const served = Bun.spawn(
      [
        'systemd-nspawn',
        '--quiet',
        '--read-only',
        '--as-pid2',
        '--private-network',
        '--register=no',
        '--keep-unit',
        `--directory=${root}`,
        `--bind=${data}:/data`,
        '--tmpfs=/tmp',
        `--user=${config.User}`,
        ...config.Env.map((pair) => `--setenv=${pair}`),
        ...config.Entrypoint,
        ...config.Cmd,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    undo.defer(async () => {
      served.kill('SIGKILL')
      await served.exited
    })
    const inside = async (...command: readonly string[]) => {
      const enter = ['nsenter', '--target', await childOf(served.pid), '--all', '--wdns=/']
      const user = ['setpriv', '--reuid=10001', '--regid=10001', '--clear-groups']
      const variables = config.Env.filter((pair) => pair.startsWith('SATCHEL_'))
      return await output([...enter, ...user, 'env', ...variables, ...command])
    }
    await until(async () => (await health(inside)) === 'healthy\n')
    expect(await inside('stat', '--format=%U %a', '/data')).toBe('satchel 700\n')
    const refused = await inside('touch', '/usr/bin/other').catch((error: unknown) => String(error))
    expect(refused).toMatch(/Read-only file system|Permission denied/)
  },
)

/** The HEALTHCHECK of the recipe. */
async function health(
  inside: (...command: readonly string[]) => Promise<string>,
): Promise<string | undefined> {
  return await inside('/usr/bin/satchel', 'health').catch(() => undefined)
}
