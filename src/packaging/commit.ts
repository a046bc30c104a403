import process from 'node:process'
import { ROOT } from './folders'

/** The commit of the checkout, with `-changed` when files differ from it; null outside a checkout. */
export async function findCommit(): Promise<string | null> {
  const head = await git('rev-parse', 'HEAD')
  if (head === undefined) return null
  const changes = await git('status', '--porcelain')
  return `${head}${changes === '' ? '' : '-changed'}`
}

/**
 * The time of the commit in seconds, which files of packages have: `SOURCE_DATE_EPOCH`, or that of git. Outside a
 * checkout the first second of 2026.
 */
export async function commitTime(): Promise<number> {
  const given = process.env['SOURCE_DATE_EPOCH'] ?? (await git('log', '-1', '--format=%ct'))
  return given === undefined ? Date.UTC(2026) / 1000 : Number(given)
}

/** The output of git; undefined where there is no git or no checkout. */
export async function git(...args: readonly string[]): Promise<string | undefined> {
  if (Bun.which('git') === null) return undefined
  const ended = await Bun.$`git ${args}`.cwd(ROOT).quiet().nothrow()
  return ended.exitCode === 0 ? ended.text().trim() : undefined
}
