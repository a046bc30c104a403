/** A blob, as `blob.list` has it. */
export interface BlobInfo {
  readonly ref: string
  readonly size: number
  readonly type: string
  readonly hash: string
  /** ISO text. */
  readonly created: string
  /** Null while an object references it. */
  readonly unreferencedSince: string | null
}

/** Endings of files whose types do not say them. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['application/octet-stream', 'bin'],
  ['audio/mpeg', 'mp3'],
  ['image/jpeg', 'jpg'],
  ['text/javascript', 'js'],
  ['text/markdown', 'md'],
  ['text/plain', 'txt'],
  ['video/quicktime', 'mov'],
])

/** The name of the file of a blob: its reference, and the ending of its type. */
export function fileNameOf({ ref, type }: Pick<BlobInfo, 'ref' | 'type'>): string {
  const [plain = ''] = type.toLowerCase().split(';')
  const [, subtype] = /^[a-z]+\/([a-z0-9]{2,8})(?:\+|$)/.exec(plain.trim()) ?? []
  const ending = ENDINGS.get(plain.trim()) ?? subtype ?? 'bin'
  return `${ref.replaceAll(/[^\w-]/g, '-')}.${ending}`
}
