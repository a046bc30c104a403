import type { Command } from '@commander-js/extra-typings'
import { writeFileSync } from 'node:fs'
import { arch, release, totalmem, type } from 'node:os'
import { version } from '../../package.json'
import { COMMIT } from '../commit'
import { type Config, UsageError } from '../config/config'
import { shownSettings } from '../config/shown'
import type { OutputOf } from '../control/operations'
import { CHECKS, examine } from '../doctor/checks'
import type { Finding } from '../doctor/finding'
import { look } from '../doctor/look'
import { SatchelError } from '../domain/value/error'
import { nameHolder, readHolder } from '../host/holder'
import { isFolderLocked } from '../sqlite/lock'
import { styled } from './color'
import { type Cli, Ending, example, findFolder, type FolderOptions, withFolder } from './command'
import { counted, isoTime, print, showProgress } from './output'
import { oneLine } from './table'

/** The exit codes of warnings and errors. */
const EXIT = { warning: 1, error: 2 } as const

/** `satchel doctor`. */
export function addDoctorCommand(program: Command, cli: Cli): void {
  withFolder(program.command('doctor'))
    .description('look for mistakes and damage in a server, its folder and its surroundings')
    .option('--online', 'also ask the mail server, and read the newest backup in a bucket')
    .option('--bundle <file>', 'write everything that was looked at into a new file, for support')
    .addHelpText(
      'after',
      '\nEach finding names the command or the setting that mends it. The exit code is 0 when nothing was found, 1 with warnings and 2 with errors. The newest backup in the folder of scheduled backups is read again, which takes as long as satchel backup verify. A bundle has neither secrets nor values of databases.',
    )
    .addHelpText(
      'after',
      example('satchel doctor', 'satchel doctor --online --bundle satchel.json'),
    )
    .action(async ({ bundle, ...options }) => {
      const examined = await examineAll(cli, options)
      const { findings } = examined
      if (bundle !== undefined) writeBundle(bundle, examined, cli.clock.now())
      await print(cli, options, { data: findings, checks: Object.keys(CHECKS) }, describe(findings))
      const [worst] = (['error', 'warning'] as const).filter((level) =>
        findings.some((finding) => finding.level === level),
      )
      if (worst !== undefined) throw new Ending(EXIT[worst])
    })
}

interface DoctorOptions extends FolderOptions {
  readonly json?: true | undefined
  readonly online?: true | undefined
}

type Examination = Partial<OutputOf<'doctor'>>

interface Examined extends Examination {
  readonly findings: readonly (Finding & { readonly check: string })[]
}

/** Settings and a folder that cannot be read are findings, too. */
async function examineAll(cli: Cli, options: DoctorOptions): Promise<Examined> {
  try {
    const config = findFolder(cli, options)
    const found = await gather(cli, config, options)
    return { ...found, findings: examine(found.facts) }
  } catch (error) {
    if (error instanceof UsageError) {
      const mend = `satchel config check${options.config === undefined ? '' : ` ${options.config}`}`
      return failed('settings', error.message, mend)
    }
    if (!(error instanceof SatchelError) || error.code === 'INTERNAL') throw error
    return failed('data folder', error.message, 'satchel doctor --data <folder>')
  }
}

function failed(check: string, problem: string, mend: string): Examined {
  return { findings: [{ check, level: 'error', problem, mend }] }
}

/** By the server, which has its own rights and settings, or here when there is none. */
async function gather(
  cli: Cli,
  config: Config,
  options: DoctorOptions,
): Promise<OutputOf<'doctor'>> {
  const { online = false } = options
  using progress = showProgress(cli, options, 'bytes')
  const holder = readHolder(config.data)
  if (holder !== undefined) {
    const { callHolder, isAnswering } = await import('../control/session')
    if (await isAnswering(holder)) {
      return await callHolder(holder, 'doctor', { online }, { progress: progress.update })
    }
  }
  if (isFolderLocked(config.data)) {
    throw new SatchelError(
      'DATA_FOLDER_IN_USE',
      `${nameHolder(holder)} has the data folder ${config.data} and answers no commands: repeat it when that process has started or ended`,
    )
  }
  const facts = await look(config, null, {
    now: cli.clock.now(),
    isOnline: online,
    progress: (bytes) => progress.update(bytes, null, 'Reading the newest backup'),
  })
  return { facts, settings: shownSettings(config) }
}

/** A file that did not exist, for its owner only. Throws what the file system says. */
function writeBundle(file: string, examined: Examined, now: number): void {
  const content = {
    created: isoTime(now),
    program: { version, commit: COMMIT, bun: Bun.version },
    system: { type: type(), release: release(), arch: arch(), memory: totalmem() },
    ...examined,
  }
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
}

function describe(findings: Examined['findings']): string {
  if (findings.length === 0) {
    return `No problems were found by ${counted(Object.keys(CHECKS).length, 'check')}`
  }
  return findings.map(describeFinding).join('\n')
}

function describeFinding({ level, check, problem, mend }: Examined['findings'][number]): string {
  const title = styled(level === 'error' ? 'red' : 'yellow', level.padEnd(8))
  return `${title} ${check}: ${oneLine(problem)}\n         ${styled('cyan', oneLine(mend))}`
}
