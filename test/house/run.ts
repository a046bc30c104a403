import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { countEntered, type Entered } from './entered'
import { measureShape, type Shape } from './shape'
import { countMethods, readSeam, type Seam } from './seam'
import { readSources } from './sources'

const usage = `bun run house [options]

Prints how large the files of src are, how they import each other, in how many of them a function
runs while a request is served, and how many functions do.

  --root FOLDER    another checkout, with its dependencies installed (this one)
  --files          also list the files: with one importer, in cycles, entered by each request
  --json           print one JSON document
  --help
`

async function main(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      root: { type: 'string', default: join(import.meta.dir, '..', '..') },
      files: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return
  }
  const root = resolve(values.root)
  const shape = measureShape(await readSources(root))
  const seam = await readSeam(root)
  const entered = await countEntered(root)
  const report = values.json
    ? renderJson(shape, seam, entered)
    : renderTable(shape, seam, entered, values.files)
  process.stdout.write(`${report}\n`)
}

function renderJson(shape: Shape, seam: Seam, entered: readonly Entered[]): string {
  const betweenFolders = Object.fromEntries(shape.betweenFolders)
  return JSON.stringify(
    { ...shape, betweenFolders, seam: Object.fromEntries(seam), entered },
    null,
    2,
  )
}

function renderTable(
  shape: Shape,
  seam: Seam,
  entered: readonly Entered[],
  hasFiles: boolean,
): string {
  const list = (paths: readonly string[]) => (hasFiles ? paths.map((path) => `      ${path}`) : [])
  return [
    row('files', shape.files),
    row('lines: median', shape.median),
    row('lines: p90', shape.p90),
    row('lines: max', `${shape.max} (${shape.largest})`),
    row('files with one importer', shape.oneImporter.length),
    ...list(shape.oneImporter),
    row('cycles', cyclesText(shape.cycles)),
    ...list(shape.cycles.flat()),
    row('cycles, imports of types too', cyclesText(shape.cyclesWithTypes)),
    ...list(shape.cyclesWithTypes.flat()),
    '',
    row('methods of the seam', countMethods(seam)),
    row('  of them of ObjectReader', seam.get('ObjectReader')?.length ?? 0),
    '',
    'imports between the folders of src/domain',
    ...[...shape.betweenFolders].map(([arrow, count]) => row(`  ${arrow}`, count)),
    '',
    'files entered by one request, and functions that run',
    ...entered.flatMap(({ name, files, functions }) => [
      row(`  ${name}`, `${files.length} · ${functions}`),
      ...list(files),
    ]),
  ].join('\n')
}

function row(name: string, value: number | string): string {
  return `${name.padEnd(34)} ${value}`
}

function cyclesText(cycles: Shape['cycles']): string {
  const sizes = cycles.map(({ length }) => length).join(', ')
  return cycles.length === 0 ? '0' : `${cycles.length} (files: ${sizes})`
}

await main(Bun.argv.slice(2))
