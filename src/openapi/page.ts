import swaggerScript from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import swaggerLicence from 'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt' with { type: 'file' }
import swaggerStyle from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import icon from './page/icon.svg' with { type: 'file' }
import start from './page/start.js' with { type: 'file' }
import style from './page/style.css' with { type: 'file' }

/**
 * The Content-Security-Policy of the page: it may load and call only this server, without inline code
 * and frames. `data:` and `blob:` images are icons of the style sheet and pictures in answers.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page around Swagger UI. Its addresses are relative to `/openapi`. */
export function page({ names }: Assets): string {
  const asset = (name: keyof typeof names) => `openapi/assets/${names[name]}`
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Satchel: the interface</title>
    <link rel="icon" type="image/svg+xml" href="${asset('icon.svg')}">
    <link rel="stylesheet" href="${asset('swagger-ui.css')}">
    <link rel="stylesheet" href="${asset('style.css')}">
    <script defer src="${asset('swagger-ui.js')}"></script>
    <script defer src="${asset('start.js')}"></script>
  </head>
  <body>
    <nav aria-label="Satchel"><a href="./">Start</a><a href="docs">Guides</a></nav>
    <div id="interface" data-document="openapi/json">
      <noscript>This page needs JavaScript; <a href="openapi/json">the document</a> does not.</noscript>
    </div>
    <footer>
      <a href="${asset('swagger-ui.LICENSE.txt')}">Shown by Swagger UI, © SmartBear Software, Apache-2.0</a>
    </footer>
  </body>
</html>
`
}

/** A file of the page. */
export interface Asset {
  /** The path of the file, in the executable or on the disk. */
  readonly path: string
  readonly type: string
}

export type AssetName = keyof typeof FILES

/** The files by the names under which they are served, and those names. */
export interface Assets {
  readonly served: ReadonlyMap<string, Asset>
  readonly names: Readonly<Record<AssetName, string>>
}

const FILES = {
  'swagger-ui.js': { path: swaggerScript, type: 'text/javascript;charset=utf-8' },
  'swagger-ui.css': { path: swaggerStyle, type: 'text/css;charset=utf-8' },
  'swagger-ui.LICENSE.txt': { path: swaggerLicence, type: 'text/plain;charset=utf-8' },
  'start.js': { path: start, type: 'text/javascript;charset=utf-8' },
  'style.css': { path: style, type: 'text/css;charset=utf-8' },
  'icon.svg': { path: icon, type: 'image/svg+xml' },
}

/** Adds a hash of the content to every file name, so that browsers can cache the files forever. */
export async function nameAssets(): Promise<Assets> {
  const named = await Promise.all(
    Object.entries(FILES).map(async ([name, asset]) => {
      const hash = Bun.hash(await Bun.file(asset.path).bytes()).toString(36)
      const [stem = '', ...endings] = name.split('.')
      return { name, asset, servedAs: [stem, hash, ...endings].join('.') }
    }),
  )
  return {
    served: new Map(named.map(({ servedAs, asset }) => [servedAs, asset])),
    names: Object.fromEntries(
      named.map(({ name, servedAs }) => [name, servedAs]),
    ) as Assets['names'],
  }
}
