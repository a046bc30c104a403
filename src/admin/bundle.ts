import { join } from 'node:path'

/** A file of the page as it is sent. */
export interface AdminFile {
  readonly name: string
  readonly type: string
  /** True for files whose names have a hash of their content. */
  readonly isImmutable: boolean
  /** Compressed with gzip. */
  readonly bytes: Uint8Array<ArrayBuffer>
}

const PAGE = join(import.meta.dir, 'page')
const ICON = join(import.meta.dir, '..', 'openapi', 'page', 'icon.svg')

const TYPES = {
  html: 'text/html;charset=utf-8',
  js: 'text/javascript;charset=utf-8',
  css: 'text/css;charset=utf-8',
  svg: 'image/svg+xml',
} as const

/** Makes the files of the page from the sources. Throws an `AggregateError` with the errors of these. */
export async function bundle(): Promise<readonly AdminFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [join(PAGE, 'main.tsx'), join(PAGE, 'style.css')],
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    sourcemap: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]' },
  })
  const built = await Promise.all(
    outputs.map(async (output) => ({
      name: output.path.replace(/^\.\//, ''),
      text: await output.text(),
    })),
  )
  const icon = await Bun.file(ICON).text()
  const files = [...built, { name: `icon-${Bun.hash(icon).toString(36)}.svg`, text: icon }]
  const named = (start: string) => files.find(({ name }) => name.startsWith(start))?.name ?? ''
  const html = frame(named('main-'), named('style-'), named('icon-'))
  return [
    pack('index.html', html, false),
    ...files
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ name, text }) => pack(name, text, true)),
  ]
}

/** Addresses are relative to `/admin`. */
function frame(script: string, style: string, icon: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="color-scheme" content="light dark">
    <title>Satchel</title>
    <link rel="icon" type="image/svg+xml" href="admin/assets/${icon}">
    <link rel="stylesheet" href="admin/assets/${style}">
    <script type="module" src="admin/assets/${script}"></script>
  </head>
  <body>
    <noscript>This page needs JavaScript. Everything that it does, a command does as well: satchel --help</noscript>
  </body>
</html>
`
}

function pack(name: string, text: string, isImmutable: boolean): AdminFile {
  const ending = name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES
  return { name, type: TYPES[ending], isImmutable, bytes: Bun.gzipSync(text, { level: 9 }) }
}
