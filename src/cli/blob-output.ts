import type { OutputOf } from '../control/operations'
import type { BlobDetails, BlobPage } from '../domain/blob/list'
import type { Verification } from '../domain/blob/verification'
import { counted, oneLine, size, table } from './output'

export function tableOfBlobs({ blobs, next }: BlobPage): string {
  if (blobs.length === 0) return 'There are no blobs'
  const rows = blobs.map(({ ref, type, created, unreferencedSince, ...blob }) => [
    ref,
    size(blob.size),
    type,
    minute(created),
    unreferencedSince === null ? '' : minute(unreferencedSince),
  ])
  const more = next === null ? '' : `\nThere are more: add --after ${next}`
  return `${table(['ref', 'size', 'type', 'uploaded', 'unreferenced since'], rows)}${more}`
}

/** One blob, a property on each line. */
export function describeBlob(blob: BlobDetails): string {
  const { references, uploaders } = blob
  const lines: [string, string][] = [
    ['Ref', blob.ref],
    ['Size', `${size(blob.size)}${blob.size < 1_000 ? '' : ` (${counted(blob.size, 'byte')})`}`],
    ['Type', blob.type],
    ['SHA-256', blob.hash],
    ['Uploaded', `${blob.created}${uploaders.length === 0 ? '' : ` by ${uploaders.join(', ')}`}`],
    [
      'Referenced',
      blob.unreferencedSince === null ? 'by' : `by nothing since ${blob.unreferencedSince}`,
    ],
  ]
  const properties = lines.map(([name, value]) => `${name.padEnd(16)}${oneLine(value)}`)
  if (references.length === 0) return properties.join('\n')
  const rows = references.map(({ realm, table, key }) => [`  ${table}`, key, realm])
  const more = blob.hasMoreReferences ? ['  and more'] : []
  return [...properties, table(['  table', 'key', 'realm'], rows), ...more].join('\n')
}

export function describeVerification({ checked, bytes, faults, strays }: Verification): string {
  const rows = faults.map(({ problem, hash, blobs }) => [problem, hash, namesOf(blobs)])
  return [
    `Read ${counted(checked, 'file')} (${size(bytes)}) of blobs`,
    ...(rows.length === 0 ? [] : [table(['problem', 'file', 'blobs'], rows)]),
    ...(strays.length === 0 ? [] : [strayText(strays.length)]),
    ...(faults.length + strays.length === 0 ? ['Everything is as it should be'] : []),
  ].join('\n')
}

function strayText(count: number): string {
  const [belong, them] = count === 1 ? ['belongs', 'it'] : ['belong', 'them']
  return `${counted(count, 'file')} ${belong} to no blob: satchel blob gc removes ${them}`
}

export function describeQuota({ usage, limits, own }: OutputOf<'blob.quota'>): string {
  const limit = (name: keyof typeof limits) => {
    const bytes = limits[name]
    const whose = own[name] === undefined ? ', as its server says' : ''
    return `${bytes === null ? 'any amount' : size(bytes)}${whose}`
  }
  return [
    `Used            ${size(usage.bytes)} in ${counted(usage.blobs, 'blob')}`,
    `All blobs       ${limit('database')}`,
    `Each user       ${limit('user')}`,
    `One blob        ${limit('blob')}`,
  ].join('\n')
}

/** Blobs that a person can look at; there may be any number that have the same bytes. */
const NAMED = 3

function namesOf(ids: readonly string[]): string {
  const more = ids.length > NAMED ? `, … (${ids.length})` : ''
  return `${ids.slice(0, NAMED).join(', ')}${more}`
}

/** `2030-01-31 12:00`, in UTC as all times. */
function minute(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)}`
}
