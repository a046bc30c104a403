import { expect, test } from 'bun:test'
import { createZip } from '../../src/zip/writer'
import { openZip } from '../../src/zip/reader'
import { temporaryFolder } from '../setup'
import { fileAt, makeZip, NOON, readZip } from './setup'

const FILES = [
  { name: 'data.ndjson', content: '{"a":1}\n'.repeat(50_000), compress: true },
  { name: 'blobs/empty', content: '', size: 0 },
  { name: 'blobs/two', content: 'Ünï 漢字 😀', size: Buffer.byteLength('Ünï 漢字 😀') },
]

/** The names and the bytes that another program finds in a zip. */
async function readByPython(path: string): Promise<Record<string, string>> {
  const script =
    'import sys,zipfile,json\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint(json.dumps({n:z.read(n).decode() for n in z.namelist()}))'
  const child = Bun.spawn(['python3', '-c', script, path], { stderr: 'inherit' })
  return JSON.parse(await child.stdout.text()) as Record<string, string>
}

test('packed files can be unpacked', async () => {
  using folder = temporaryFolder()
  const read = await readZip(await makeZip(folder.path, FILES))
  expect(read).toEqual(Object.fromEntries(FILES.map(({ name, content }) => [name, content])))
})

test('a zip without files is one', async () => {
  using folder = temporaryFolder()
  const path = await makeZip(folder.path, [])
  expect(await readZip(path)).toEqual({})
})

test('a compressed file takes less room and reads the same', async () => {
  using folder = temporaryFolder()
  const loose = Bun.file(
    await makeZip(
      folder.path,
      FILES.map((file) => ({ ...file, compress: false })),
    ),
  )
  const size = loose.size
  const compressed = Bun.file(await makeZip(folder.path, FILES))
  expect(compressed.size).toBeLessThan(size / 20)
})

test('a source is released when the zip is cancelled', async () => {
  for (const compress of [false, true]) {
    let isOpen = false
    async function* content(): AsyncGenerator<Uint8Array> {
      isOpen = true
      try {
        for (;;) yield crypto.getRandomValues(new Uint8Array(65_536))
      } finally {
        isOpen = false
      }
    }
    for await (const bytes of createZip(NOON).add('endless', content(), { compress })) {
      if (isOpen && bytes.length > 1_000) break
    }
    expect(isOpen).toBe(false)
  }
})

test('a source that breaks off breaks the zip off, packed tightly or not', async () => {
  using folder = temporaryFolder()
  for (const compress of [false, true]) {
    async function* content(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begun')
      throw new Error('the source is gone')
    }
    const making = makeZip(folder.path, [{ name: 'a', content: content(), compress }])
    expect(making).rejects.toThrow('the source is gone')
    await making.catch(() => undefined)
  }
})

test.if(Bun.which('unzip') !== null)('unzip finds nothing wrong with it', async () => {
  using folder = temporaryFolder()
  const path = await makeZip(folder.path, FILES)
  const tested = Bun.spawn(['unzip', '-t', path])
  expect(await tested.stdout.text()).toContain('No errors detected')
  const listed = await Bun.spawn(['unzip', '-l', path], { env: { TZ: 'UTC' } }).stdout.text()
  expect(listed).toContain('2026-01-31 12:00   blobs/two')
  expect(new Date(NOON).toISOString()).toStartWith('2026-01-31T12:00')
})

test.if(Bun.which('python3') !== null)('Python reads it, with however many files', async () => {
  using folder = temporaryFolder()
  const known = Object.fromEntries(FILES.map(({ name, content }) => [name, content]))
  expect(await readByPython(await makeZip(folder.path, FILES))).toEqual(known)
  const many = Array.from({ length: 70_000 }, (_, n) => ({
    name: `blobs/${n}`,
    content: '',
    size: 0,
  }))
  const path = await makeZip(folder.path, [...many, { name: 'last', content: 'here' }])
  const read = await readByPython(path)
  expect(Object.keys(read).length).toBe(70_001)
  expect(read['last']).toBe('here')
})

test('a zip with more than 4 GiB in it is written, and read behind them', async () => {
  using folder = temporaryFolder()
  const size = 2 ** 32 + 5
  const zeros = new Uint8Array(2 ** 24)
  async function* content(): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; left -= zeros.length) {
      yield zeros.subarray(0, Math.min(left, zeros.length))
    }
  }
  const path = await makeZip(folder.path, [
    { name: 'large', content: content(), size },
    { name: 'after', content: 'still here', size: 10 },
  ])
  expect(Bun.file(path).size).toBeGreaterThan(size)
  await using zip = await openZip(await fileAt(path))
  const [large, after] = await Array.fromAsync(zip.list())
  expect(large).toMatchObject({ name: 'large', size, packedSize: size })
  expect(after?.offset).toBeGreaterThan(size)
  const read = await Array.fromAsync(zip.open(after!))
  expect(Buffer.concat(read).toString()).toBe('still here')
})
