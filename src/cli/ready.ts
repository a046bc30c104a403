import { relative, resolve } from 'node:path'
import process from 'node:process'
import { version } from '../../package.json'
import type { Config } from '../config/config'
import type { Server } from '../server'
import { SETTINGS } from '../config/settings'
import { credentials } from './output'
import type { Terminal } from './terminal'

/** The one line of standard output that tells a program that the server answers. */
export function readyLine({ url, databases, client }: Server): string {
  return JSON.stringify({
    event: 'ready',
    url,
    databases,
    ...(client === undefined ? {} : { client }),
  })
}

/** The same for someone at a terminal, with what to try first. */
export function readyText(server: Server, config: Config, terminal: Terminal): string {
  const { url, databases, client, folder } = server
  const [first] = databases
  const address = first?.url ?? `${url}/main`
  const kept = config.memory ? 'in memory, forgotten at exit' : folder
  return [
    `Satchel ${version} is ready`,
    '',
    ...databases.map((database) => `Database        ${database.url}`),
    ...(config.publicUrl === null ? [] : [`Public address  ${config.publicUrl}`]),
    `Data            ${kept}`,
    ...(client === undefined ? [] : ['', credentials({ terminal }, client)]),
    '',
    'Try it from another terminal:',
    ...firstSteps(address, folder).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n')
}

/** The words that reach this server from the folder and the shell it was started in. */
function firstSteps(address: string, folder: string): string[] {
  const satchel = nameOfProgram()
  const option = folder === resolve(SETTINGS.data.fallback) ? '' : ` --data ${folder}`
  return [
    `echo '{"todoItems": "@id, title"}' > schema.json`,
    `${satchel} schema push schema.json${option}`,
    `TOKEN=$(${satchel} token --sub alice@example.com${option})`,
    `curl ${address}/my/todoItems -H "Authorization: Bearer $TOKEN" \\`,
    `     -H 'Content-Type: application/json' -d '{"title": "Buy milk"}'`,
  ]
}

function nameOfProgram(): string {
  const { execPath } = process
  if (Bun.which('satchel') === execPath) return 'satchel'
  const path = relative('.', execPath)
  return path.startsWith('..') ? execPath : `./${path}`
}
