import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Session } from '../control/session'
import { DAY, HOUR, MINUTE } from '../domain/value/time'
import { type Cli, example, inSession, tell, withFolder } from './command'
import { counted, isoTime, print } from './output'

/** `satchel admin` and `satchel admin revoke`. */
export function addAdminCommands(program: Command, cli: Cli): void {
  const admin = program.command('admin')
  withFolder(admin)
    .description('make a link that opens the page for administrators of a running server')
    .option('--open', 'open the page in the browser of this machine')
    .option('--db <name>', 'for one database only, without the server')
    .option('--read-only', 'without the right to change anything')
    .option('--for <time>', 'end the login after this time, at most 12h (default: 12h)', minutes)
    .option('--confirm', 'let a page that is logged in show secrets for ten minutes')
    .addHelpText(
      'after',
      '\nThe link logs in once, within ten minutes. A login ends when nobody uses it for 30 minutes.',
    )
    .addHelpText(
      'after',
      example('satchel admin --open', 'satchel admin --db shop --read-only --for 1h'),
    )
    .action(({ open, db, readOnly, for: life, confirm, ...options }) =>
      inSession(cli, options, async (session) => {
        const { url, expires } = await session.run('session.link', {
          only: db,
          isReadOnly: readOnly,
          minutes: life,
          confirmation: confirm,
        })
        const page = url.slice(0, url.indexOf('#'))
        const failed = open ? await openPage(session, url) : ''
        if (failed === undefined) {
          await print(cli, options, { url: page, opened: true }, `Opened ${page}`)
          return
        }
        const hint = confirm ? CONFIRMS : 'Open it within ten minutes: it logs in once.'
        const text = `${url}\n${[failed, hint].join(' ').trim()}`
        await print(cli, options, { url, expires: isoTime(expires) }, text)
      }),
    )

  withFolder(admin.command('revoke'), 'satchel admin revoke')
    .description('end logins to the page for administrators; without an id the unused links too')
    .argument('[id]', 'the login, as the page shows it (default: all of them)')
    .action((id, options) =>
      tell(
        cli,
        'session.revoke',
        { ...options, id },
        ({ ended }) => `${counted(ended, 'login')} ended`,
      ),
    )
}

const CONFIRMS = 'Open it within ten minutes in the browser that is logged in.'

/** How long the browser has to open the page, ms. */
const OPENING_MS = 15_000
const LOOK_EVERY_MS = 100

/**
 * Opens a file of this user alone that leads to the link: arguments of a process are seen by all users. The file is
 * gone when the link was used. Returns the reason why it was not.
 */
async function openPage(session: Session, url: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'satchel-admin-'))
  try {
    chmodSync(folder, 0o700)
    const file = join(folder, 'open.html')
    writeFileSync(file, redirectTo(url), { mode: 0o600, flag: 'wx' })
    const before = await lastConfirmed(session)
    const opener = start(file)
    for (let waited = 0; waited < OPENING_MS; waited += LOOK_EVERY_MS) {
      if (opener === undefined || (opener.exitCode ?? 0) !== 0) {
        return 'No browser can be opened here.'
      }
      if ((await lastConfirmed(session)) > before) return undefined
      await Bun.sleep(LOOK_EVERY_MS)
    }
    return 'The browser has not opened the page yet.'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Later after each login, and after each that is confirmed. */
async function lastConfirmed(session: Session): Promise<number> {
  const logins = await session.run('session.list', {})
  return Math.max(0, ...logins.map(({ confirmedUntil }) => confirmedUntil))
}

function redirectTo(url: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${Bun.escapeHTML(url)}">
<title>Satchel</title>
`
}

/** The programs that open a file as the desktop would. */
const OPENERS: Readonly<Record<string, string>> = { darwin: 'open', win32: 'explorer.exe' }

/** Undefined where there is no such program. Some go on as long as the browser is open. */
function start(file: string) {
  const command = OPENERS[process.platform] ?? 'xdg-open'
  try {
    const program = Bun.which(command, { PATH: process.env['PATH'] ?? '' }) ?? command
    const opener = Bun.spawn([program, file], { stdio: ['ignore', 'ignore', 'ignore'] })
    opener.unref()
    return opener
  } catch {
    return undefined
  }
}

const MINUTES_BY_UNIT: Readonly<Record<string, number>> = { m: 1, h: HOUR / MINUTE }

/** Throws `InvalidArgumentError` for anything but a time of at most twelve hours. */
function minutes(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,3})([mh])$/.exec(text) ?? []
  const found = Number(count) * (MINUTES_BY_UNIT[unit] ?? 0)
  if (found > 0 && found <= DAY / MINUTE / 2) return found
  throw new InvalidArgumentError('it must be a time of at most 12h, such as 30m or 8h.')
}
