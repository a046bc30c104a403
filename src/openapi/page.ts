import type { Assets } from './assets'

/**
 * What the page may do: run and load what comes from this server, and call it. Nothing inline, no
 * other host, no frame around it. `data:` and `blob:` images are icons of the style sheet and
 * pictures in answers.
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
    <main id="interface" data-document="openapi/json">
      <noscript>This page needs JavaScript; <a href="openapi/json">the document</a> does not.</noscript>
    </main>
    <footer>
      <a href="${asset('swagger-ui.LICENSE.txt')}">Shown by Swagger UI, © SmartBear Software, Apache-2.0</a>
    </footer>
  </body>
</html>
`
}
