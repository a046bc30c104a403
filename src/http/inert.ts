/**
 * True for types that a browser shows without running anything in them (promise 41); all others it is
 * told to save. What is not exactly one type and plain parameters could be read as another one.
 */
export function isInert(type: string): boolean {
  const [, essence] = ONE_TYPE.exec(type) ?? []
  return essence !== undefined && INERT.has(essence.toLowerCase())
}

const ONE_TYPE = /^([\w.+-]+\/[\w.+-]+)(?:\s*;\s*[\w-]+=[\w.+-]+)*$/

const INERT: ReadonlySet<string> = new Set([
  'application/json',
  'audio/aac',
  'audio/flac',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'font/otf',
  'font/ttf',
  'font/woff',
  'font/woff2',
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/jpeg',
  'image/jxl',
  'image/png',
  'image/tiff',
  'image/vnd.microsoft.icon',
  'image/webp',
  'image/x-icon',
  'text/csv',
  'text/plain',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
])
