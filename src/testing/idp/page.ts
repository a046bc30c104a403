import type { IdpPerson } from '../../host/test-mode'

/** The page on which a tester chooses the person to log in as. */
export function loginPage(parameters: URLSearchParams, people: readonly IdpPerson[]): string {
  const links = people.map((person) => {
    const { email, name, failure } = person
    const chosen = new URLSearchParams(parameters)
    chosen.set('as', email)
    const about = failure === null ? '' : ` (${failure})`
    return `<li><a href="authorize?${escape(chosen.toString())}">${escape(`${name ?? email}${about}`)}</a> <small>${escape(email)}</small></li>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in for a test</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem }
li { margin: 0.5rem 0 }
</style>
<main>
<h1>Log in for a test</h1>
<p>This login provider belongs to a server in test mode. Choose the person to log in as:</p>
<ul>${links.join('\n')}</ul>
</main>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
}
