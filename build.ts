import { rename } from 'node:fs/promises'
import { join, relative } from 'node:path'
import process from 'node:process'

/**
 * Makes `dist/satchel`: the program, its migrations, its workers and the runtime in one file that
 * reads nothing from the folder it is started in (promises.md 44).
 */
const OUTFILE = join(import.meta.dir, 'dist', 'satchel')
// Put in place when it is whole, also under a program that runs.
const DRAFT = `${OUTFILE}.${process.pid}`

await Bun.build({
  root: import.meta.dir,
  // Workers are entry points of their own: an executable has no files to load them from.
  entrypoints: [
    'src/main.ts',
    'src/sqlite/checkpoint-worker.ts',
    'src/sqlite/migration-worker.ts',
  ].map((path) => join(import.meta.dir, path)),
  target: 'bun',
  format: 'esm',
  bytecode: true,
  // Modules that are imported on demand are also read from the file on demand.
  splitting: true,
  // The web framework reads the source of handlers: names of parameters are to stay.
  minify: { whitespace: true, syntax: true, identifiers: false },
  sourcemap: 'none',
  compile: {
    outfile: DRAFT,
    autoloadDotenv: false,
    autoloadBunfig: false,
    autoloadTsconfig: false,
    autoloadPackageJson: false,
  },
})
await rename(DRAFT, OUTFILE)
process.stdout.write(`Made ${relative(process.cwd(), OUTFILE)}\n`)
