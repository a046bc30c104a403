import type { ArchiveFormat } from '../domain/transfer/archive'
import { createZip } from './writer'
import { openZip } from './reader'

/** `PK` and what a zip begins with: a file, or the directory of one without files. */
const BEGINNINGS = ['504b0304', '504b0506']

/** Zip files, as ordinary programs create and open them. */
export const ZIP: ArchiveFormat = {
  isArchive: (beginning) =>
    BEGINNINGS.includes(Buffer.from(beginning.subarray(0, 4)).toString('hex')),
  open: openZip,
  create: createZip,
}
