/** A page of one message in plain HTML, for a person whose browser has nowhere else to go. */
export function messagePage(title: string, message: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)}</title>
    <style>${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>${escapeHtml(title)}</h1>
      <p>${escapeHtml(message)}</p>
    </main>
  </body>
</html>
`
}

/** Nothing runs, loads or frames such a page; its style is the one that is written above. */
export function messagePolicy(): string {
  const hash = new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Text as it may stand between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/["&'<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const STYLE = `
body { margin: 0; display: grid; min-height: 100vh; place-items: center; color-scheme: light dark;
  font: 1.1rem/1.5 system-ui, sans-serif }
main { max-width: 34rem; padding: 1.5rem }
h1 { font-size: 1.4rem }
`
