/** A file as a zip tells of it (APPNOTE 6.3.10, 4.3). */
export interface ZipFile {
  readonly name: Buffer
  readonly method: number
  /** Bytes 10 to 13 of its header: when it was made. */
  readonly time: number
  /** The lengths take eight bytes each: they are 4 GiB or more, or may turn out to be. */
  readonly isLarge: boolean
  readonly offset: number
  readonly crc: number
  readonly packedSize: number
  readonly size: number
}

const LOCAL_HEADER = 0x04034b50
const DATA_DESCRIPTOR = 0x08074b50
const DIRECTORY_RECORD = 0x02014b50
const LARGE_DIRECTORY_END = 0x06064b50
const LARGE_DIRECTORY_LOCATOR = 0x07064b50
const DIRECTORY_END = 0x06054b50

/** Lengths and CRC follow the bytes, and the name is UTF-8. */
const FLAGS = 0x0808
const VERSION = 20
/** Of readers that know lengths of eight bytes. */
const LARGE_VERSION = 45
const MADE_ON_UNIX = 3 << 8
/** A file that its owner may read and write. */
const MODE = 0o100600
/** The extra field that holds lengths of eight bytes. */
const LARGE = 1
/** The value that refers to the extra field. */
const ELSEWHERE = 0xffffffff
const ELSEWHERE_16 = 0xffff

type Described = Pick<ZipFile, 'name' | 'method' | 'time' | 'isLarge'>

export function localHeader({ name, method, time, isLarge }: Described): Buffer {
  const extra = isLarge ? largeField([0, 0]) : EMPTY
  const header = Buffer.alloc(30)
  header.writeUInt32LE(LOCAL_HEADER, 0)
  header.writeUInt16LE(isLarge ? LARGE_VERSION : VERSION, 4)
  header.writeUInt16LE(FLAGS, 6)
  header.writeUInt16LE(method, 8)
  header.writeUInt32LE(time, 10)
  if (isLarge) {
    header.writeUInt32LE(ELSEWHERE, 18)
    header.writeUInt32LE(ELSEWHERE, 22)
  }
  header.writeUInt16LE(name.length, 26)
  header.writeUInt16LE(extra.length, 28)
  return Buffer.concat([header, name, extra])
}

export function dataDescriptor({ crc, packedSize, size, isLarge }: ZipFile): Buffer {
  const descriptor = Buffer.alloc(isLarge ? 24 : 16)
  descriptor.writeUInt32LE(DATA_DESCRIPTOR, 0)
  descriptor.writeUInt32LE(crc, 4)
  if (isLarge) {
    descriptor.writeBigUInt64LE(BigInt(packedSize), 8)
    descriptor.writeBigUInt64LE(BigInt(size), 16)
  } else {
    descriptor.writeUInt32LE(packedSize, 8)
    descriptor.writeUInt32LE(size, 12)
  }
  return descriptor
}

export function directoryRecord(file: ZipFile): Buffer {
  const { name, method, time, isLarge, offset, crc, packedSize, size } = file
  const lengths = [size, packedSize, offset]
  const isWide = isLarge || lengths.some((length) => length >= ELSEWHERE)
  const extra = isWide ? largeField(lengths) : EMPTY
  const short = (length: number) => (isWide ? ELSEWHERE : length)
  const record = Buffer.alloc(46)
  record.writeUInt32LE(DIRECTORY_RECORD, 0)
  record.writeUInt16LE(MADE_ON_UNIX | LARGE_VERSION, 4)
  record.writeUInt16LE(isWide ? LARGE_VERSION : VERSION, 6)
  record.writeUInt16LE(FLAGS, 8)
  record.writeUInt16LE(method, 10)
  record.writeUInt32LE(time, 12)
  record.writeUInt32LE(crc, 16)
  record.writeUInt32LE(short(packedSize), 20)
  record.writeUInt32LE(short(size), 24)
  record.writeUInt16LE(name.length, 28)
  record.writeUInt16LE(extra.length, 30)
  record.writeUInt32LE(MODE * 0x10000, 38)
  record.writeUInt32LE(short(offset), 42)
  return Buffer.concat([record, name, extra])
}

export interface Directory {
  readonly offset: number
  readonly length: number
  readonly count: number
}

export function directoryEnd({ offset, length, count }: Directory): Buffer {
  const isWide = count >= ELSEWHERE_16 || length >= ELSEWHERE || offset >= ELSEWHERE
  const end = Buffer.alloc(22)
  end.writeUInt32LE(DIRECTORY_END, 0)
  end.writeUInt16LE(isWide ? ELSEWHERE_16 : count, 8)
  end.writeUInt16LE(isWide ? ELSEWHERE_16 : count, 10)
  end.writeUInt32LE(isWide ? ELSEWHERE : length, 12)
  end.writeUInt32LE(isWide ? ELSEWHERE : offset, 16)
  return isWide ? Buffer.concat([largeEnd({ offset, length, count }), end]) : end
}

function largeEnd({ offset, length, count }: Directory): Buffer {
  const end = Buffer.alloc(56 + 20)
  end.writeUInt32LE(LARGE_DIRECTORY_END, 0)
  end.writeBigUInt64LE(44n, 4)
  end.writeUInt16LE(MADE_ON_UNIX | LARGE_VERSION, 12)
  end.writeUInt16LE(LARGE_VERSION, 14)
  end.writeBigUInt64LE(BigInt(count), 24)
  end.writeBigUInt64LE(BigInt(count), 32)
  end.writeBigUInt64LE(BigInt(length), 40)
  end.writeBigUInt64LE(BigInt(offset), 48)
  end.writeUInt32LE(LARGE_DIRECTORY_LOCATOR, 56)
  end.writeBigUInt64LE(BigInt(offset + length), 64)
  end.writeUInt32LE(1, 72)
  return end
}

function largeField(lengths: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + lengths.length * 8)
  field.writeUInt16LE(LARGE, 0)
  field.writeUInt16LE(lengths.length * 8, 2)
  for (const [index, length] of lengths.entries()) {
    field.writeBigUInt64LE(BigInt(length), 4 + index * 8)
  }
  return field
}

const EMPTY = Buffer.alloc(0)
