import type { BlobStore } from '../store/blob-store'
import type { Scratch, ScratchFile } from '../store/scratch'
import type { Database } from '../store/store'

/** A database with everything that imports and exports of it use. */
export interface TransferContext {
  readonly database: Database
  readonly contents: BlobStore
  readonly archives: ArchiveFormat
  readonly scratch: Scratch
}

/** A file in an archive and its offset, as plain JSON, so that a later process can find it again. */
export interface PackedFile {
  readonly name: string
  /** In bytes, unpacked. */
  readonly size: number
  /** In bytes, as it is stored in the archive. */
  readonly packedSize: number
  /** Where it begins in the archive. */
  readonly offset: number
  /** How it is packed, by the numbers of the format. */
  readonly method: number
  /** CRC-32 of its bytes, unpacked. */
  readonly crc: number
}

/** An uploaded archive: nothing about it is trusted before it was checked. */
export interface Archive extends AsyncDisposable {
  /**
   * The files in it, folders left out, one after the other. Throws `INVALID_REQUEST` when it is
   * damaged, encrypted, or built to deceive.
   */
  list(): AsyncIterable<PackedFile>
  /**
   * The bytes of a file, unpacked. Throws `INVALID_REQUEST` while they are read when they are not as
   * many as it says, or others than were packed.
   */
  open(file: PackedFile): AsyncIterable<Uint8Array>
}

/** An archive that is being made; its bytes are taken as they come. */
export interface ArchiveWriter {
  /** Adds a file whose `size` may not be known, packed more tightly if it is worth the work. */
  add(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly size?: number; readonly compress: boolean },
  ): AsyncGenerator<Uint8Array>
  /** The bytes after the last file. */
  finish(): Generator<Uint8Array>
}

/** The seam between the domain and a format of archives. */
export interface ArchiveFormat {
  /** True for a file that begins with these bytes, four at least. */
  isArchive(beginning: Uint8Array): boolean
  /** Opens a file and disposes it in the end. Throws `INVALID_REQUEST` when it is no whole archive. */
  open(file: ScratchFile): Promise<Archive>
  /** `now` in ms: every file in it is from then. */
  create(now: number): ArchiveWriter
}
