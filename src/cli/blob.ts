import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { amount } from '../config/parsers'
import type { OutputOf } from '../control/operations'
import type { BlobDetails, BlobPage } from '../domain/blob/list'
import type { Verification } from '../domain/blob/verification'
import { SatchelError } from '../domain/value/error'
import { carryOut, type Cli, number, tell, withDatabase } from './command'
import { counted, minute, print, limitSize, size } from './output'
import { list, properties, table } from './table'

/** `satchel blob list|show|quota|gc|verify` (design.md §3, §5.9, protocol.md §8). */
export function addBlobCommands(program: Command, cli: Cli): void {
  const blob = program.command('blob').description('the binary data beside the objects')

  withDatabase(blob.command('list'), 'satchel blob list', 'satchel blob list --unreferenced')
    .description('list blobs')
    .option('--unreferenced', 'only blobs that no object references')
    .option('--limit <number>', 'the maximum number of blobs', number, 100)
    .option('--after <id>', 'continue after this blob', '')
    .action(({ unreferenced: onlyUnreferenced, ...options }) =>
      tell(cli, 'blob.list', { ...options, onlyUnreferenced }, tableOfBlobs, ({ blobs, next }) => {
        const hasMore = next !== null
        return { data: blobs, hasMore, ...(hasMore ? { pagingKey: next } : {}) }
      }),
    )

  withDatabase(blob.command('show'), 'satchel blob show 1:0Q7wmXvO3IdAJuWXRbP9ImQZ')
    .description('show a blob, its uploaders and the objects that reference it')
    .argument('<blob>', 'its ref, or the id in it')
    .action((blob, options) => tell(cli, 'blob.show', { ...options, blob }, describeBlob))

  addQuotaCommand(blob, cli)

  withDatabase(blob.command('gc'), 'satchel blob gc --dry-run', 'satchel blob gc')
    .description('remove blobs that were unreferenced for a day, as a server does every hour')
    .option('--dry-run', 'only report the blobs that would be removed')
    .action(async (options) => {
      const collected = await carryOut(cli, 'blob.gc', options, { progressIn: 'blobs' })
      const { blobs, bytes, strays } = collected
      const files = strays === 0 ? '' : ` and ${counted(strays, 'file')} that belong to no blob`
      const verb = options.dryRun ? 'Would remove' : 'Removed'
      await print(
        cli,
        options,
        collected,
        `${verb} ${counted(blobs, 'blob')} (${size(bytes)})${files}`,
      )
    })

  withDatabase(blob.command('verify'), 'satchel blob verify')
    .description('read the bytes of all blobs and compare them with their hashes')
    .action(async (options) => {
      const found = await carryOut(cli, 'blob.verify', options, { progressIn: 'bytes' })
      await print(cli, options, found, describeVerification(found, cli.terminal.outputWidth))
      const count = found.faults.length
      if (count > 0) {
        throw new SatchelError(
          'STORAGE_FAILED',
          `${counted(count, 'file')} of blobs ${count === 1 ? 'is' : 'are'} damaged or missing: upload the same bytes again, or import a .zip that has them`,
        )
      }
    })
}

function addQuotaCommand(blob: Command, cli: Cli): void {
  withDatabase(
    blob.command('quota'),
    'satchel blob quota',
    'satchel blob quota --total 20GB --user 500MB',
    'satchel blob quota --total none',
  )
    .description('show or set the quotas of blobs; others stay unchanged')
    .option(
      '--total <size>',
      'the quota of all blobs: 20GB, none for no limit, server for the setting of the server',
      limit,
    )
    .option('--user <size>', 'the quota of the uploads of each user', limit)
    .option('--blob <size>', 'the maximum size of one blob', limit)
    .action((options) => tell(cli, 'blob.quota', options, describeQuota))
}

function limit(text: string): number | 'none' | 'server' {
  if (text === 'none' || text === 'server') return text
  try {
    return amount(text)
  } catch {
    throw new InvalidArgumentError('it must be a size such as 20GB, none or server.')
  }
}

function tableOfBlobs({ blobs, next }: BlobPage, width?: number): string {
  const rows = blobs.map(({ ref, type, created, unreferencedSince, ...blob }) => [
    ref,
    size(blob.size),
    type,
    minute(created),
    unreferencedSince === null ? '' : minute(unreferencedSince),
  ])
  const headings = ['ref', 'size', { mayCut: 'type' }, 'uploaded', 'unreferenced since']
  return list(headings, rows, { none: 'There are no blobs', cursor: next, width })
}

/** One blob, a property on each line. */
function describeBlob(blob: BlobDetails, width?: number): string {
  const { references, uploaders } = blob
  const shown = properties([
    ['Ref', blob.ref],
    ['Size', `${size(blob.size)}${blob.size < 1_000 ? '' : ` (${counted(blob.size, 'byte')})`}`],
    ['Type', blob.type],
    ['SHA-256', blob.hash],
    ['Uploaded', `${blob.created}${uploaders.length === 0 ? '' : ` by ${uploaders.join(', ')}`}`],
    [
      'Referenced',
      blob.unreferencedSince === null ? 'by' : `by nothing since ${blob.unreferencedSince}`,
    ],
  ])
  if (references.length === 0) return shown
  const rows = references.map(({ realm, table, key }) => [`  ${table}`, key, realm])
  const more = blob.hasMoreReferences ? ['  and more'] : []
  return [shown, table(['  table', 'key', 'realm'], rows, width), ...more].join('\n')
}

function describeVerification(
  { checked, bytes, faults, strays }: Verification,
  width?: number,
): string {
  const rows = faults.map(({ problem, hash, blobs }) => [
    ['red', problem] as const,
    hash,
    namesOf(blobs),
  ])
  return [
    `Read ${counted(checked, 'file')} (${size(bytes)}) of blobs`,
    ...(rows.length === 0 ? [] : [table(['problem', 'file', 'blobs'], rows, width)]),
    ...(strays.length === 0 ? [] : [strayText(strays.length)]),
    ...(faults.length + strays.length === 0 ? ['No problems were found'] : []),
  ].join('\n')
}

function strayText(count: number): string {
  const [belong, them] = count === 1 ? ['belongs', 'it'] : ['belong', 'them']
  return `${counted(count, 'file')} ${belong} to no blob: satchel blob gc removes ${them}`
}

function describeQuota({ usage, limits, own }: OutputOf<'blob.quota'>): string {
  const limit = (name: keyof typeof limits) => {
    const bytes = limits[name]
    const source = own[name] === undefined ? ' (set by the server)' : ''
    return `${bytes === null ? 'no limit' : limitSize(bytes)}${source}`
  }
  return [
    `Used            ${size(usage.bytes)} in ${counted(usage.blobs, 'blob')}`,
    `All blobs       ${limit('database')}`,
    `Each user       ${limit('user')}`,
    `One blob        ${limit('blob')}`,
  ].join('\n')
}

/** How many ids are shown of the blobs that have the same bytes. */
const SHOWN_IDS = 3

function namesOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN_IDS ? `, … (${ids.length})` : ''
  return `${ids.slice(0, SHOWN_IDS).join(', ')}${more}`
}
