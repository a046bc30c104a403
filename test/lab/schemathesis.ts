import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BOB, type Caller } from '../http/setup'
import type { Document } from '../openapi/setup'
import { type Executable, setupExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import type { Finding } from './experiment'

const VERSION = '4.32.5'
/** A virtual environment that is made once. */
const FOLDER = join(import.meta.dir, '..', '..', 'dist', `schemathesis-${VERSION}`)

/** The Python that can make a virtual environment, if there is one. */
export function findPython(): string | undefined {
  const python = Bun.which('python3')
  if (python === null) return undefined
  const check = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
  return Bun.spawnSync([python, '-c', check]).success ? python : undefined
}

/** Installs Schemathesis from PyPI unless an earlier run did. */
async function installSchemathesis(): Promise<string> {
  const program = join(FOLDER, 'bin', 'schemathesis')
  if (existsSync(join(FOLDER, 'complete'))) return program
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  for (const command of [
    [findPython() ?? 'python3', '-m', 'venv', FOLDER],
    [join(FOLDER, 'bin', 'pip'), 'install', '--quiet', `schemathesis==${VERSION}`],
  ]) {
    const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe' })
    if ((await child.exited) === 0) continue
    throw new Error(`${command.join(' ')}: ${(await child.stderr.text()).slice(-2_000)}`)
  }
  await writeFile(join(FOLDER, 'complete'), '')
  return program
}

/**
 * Promise 33: Schemathesis derives requests from the OpenAPI document, valid and invalid ones and
 * sequences of them, and holds the answers against it: first as a client with all scopes, then as a
 * user, `minutes` in total.
 */
export async function runSchemathesis(minutes: number, seed: number): Promise<Finding> {
  const program = await installSchemathesis()
  const problems: string[] = []
  const facts: string[] = []
  for (const actor of ['client', 'user'] as const) {
    let log: Promise<string>
    {
      await using executable = await setupExecutable()
      log = executable.served.log
      const root = await executable.root()
      await fill(executable, root)
      const caller = actor === 'client' ? root : await executable.as(BOB)
      const { output, exitCode } = await attack(program, executable, caller, minutes / 2, seed)
      const cases = /^ *\d+ generated\b.*$/m.exec(output)?.[0].trim() ?? 'no summary'
      facts.push(`as a ${actor}: ${cases}`)
      if (exitCode !== 0) problems.push(`as a ${actor}:\n${failuresIn(output)}`)
    }
    const errors = (await log).split('\n').filter((line) => line.includes('"level":"error"'))
    problems.push(...errors)
  }
  return { facts: facts.join('; '), problems }
}

/** Names that exist, by parameter: random ones would hardly ever hit. */
const KNOWN = {
  database: ['main'],
  table: ['items', 'plain', 'pairs', 'realms', 'members', 'roles'],
  shortTable: ['items', 'plain', 'pairs', 'realms', 'members', 'roles'],
  key: ['one', 'two', '["one",1]', 'rlm-team', '#own'],
  user: ['ann@example.com', BOB],
  blob: ['first', '1:first'],
} as const

async function fill(executable: Executable, root: Caller): Promise<void> {
  const realm = { realmId: 'rlm-team', name: 'Team', owner: 'ann@example.com' }
  await root.post('/users', [{ userId: 'ann@example.com', type: 'prod', data: null }])
  await root.post('/all/realms', realm)
  await root.post('/all/roles', { realmId: 'rlm-team', name: 'doer', permissions: { manage: '*' } })
  await root.post('/all/members', { realmId: 'rlm-team', userId: BOB, roles: ['doer'] })
  const headers = { 'content-type': 'image/jpeg' }
  await root.send('PUT', '/blob/first', { body: 'bytes', headers })
  const image = { _bt: 'Blob', ref: '1:first', size: 5 }
  for (const realmId of ['rlm-public', 'rlm-team']) {
    const id = realmId === 'rlm-public' ? 'one' : 'two'
    await root.post('/all/items', { id, realmId, country: 'SE', tags: ['a'], image })
    await root.post('/all/plain', { id, realmId, due: { $t: 'Date', v: '2030-01-31T12:00:00Z' } })
    await root.post('/all/pairs', { a: id, b: 1, realmId })
  }
  await executable.as(BOB)
}

/** The document, with the names in `KNOWN` beside those that Schemathesis invents. */
async function documentOf({ url }: Executable): Promise<object> {
  const document = (await (await fetch(`${url}/openapi/json`)).json()) as Document
  const parameters = Object.entries(document.components.parameters).map(([name, parameter]) => {
    const known = (KNOWN as Readonly<Record<string, readonly string[]>>)[name]
    if (known === undefined) return [name, parameter]
    const isClosed = ['database', 'table', 'shortTable'].includes(name)
    const schema = isClosed ? { enum: known } : { anyOf: [{ enum: known }, parameter.schema] }
    return [name, { ...parameter, schema, example: known[0] }]
  })
  const components = { ...document.components, parameters: Object.fromEntries(parameters) }
  return { ...document, components }
}

async function attack(
  program: string,
  executable: Executable,
  { token }: Caller,
  minutes: number,
  seed: number,
) {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'openapi.json'), JSON.stringify(await documentOf(executable)))
  await Bun.write(join(folder.path, 'schemathesis.toml'), CONFIG)
  await Bun.write(join(folder.path, 'files.py'), FILES)
  const seconds = Math.max(1, Math.round(minutes * 60))
  const child = Bun.spawn(
    [
      program,
      ...'--config-file schemathesis.toml run openapi.json'.split(' '),
      ...`--url ${executable.url} --seed ${seed} --max-time ${seconds}`.split(' '),
      ...'--checks all --phases examples,coverage,fuzzing,stateful --continue-on-failure'.split(
        ' ',
      ),
      ...'--suppress-health-check all --generation-database none --no-color'.split(' '),
      ...'--max-redirects 0 --header'.split(' '),
      `Authorization: Bearer ${token}`,
    ],
    {
      cwd: folder.path,
      env: { ...process.env, PYTHONPATH: folder.path },
      stdout: 'pipe',
      stderr: 'inherit',
      timeout: (seconds + 120) * 1_000,
    },
  )
  const output = await child.stdout.text()
  return { output, exitCode: await child.exited }
}

/** All checks are on unless this says otherwise; on the command line `--checks` would override it. */
const CONFIG = `
hooks = "files"

# Words describe what a schema cannot: keys, realms and typed values fit the table and the stored data,
# ranges fit the blob, and codes by e-mail are few.
[checks]
positive_data_acceptance.expected-statuses = ["2xx", 303, 400, 401, 403, 404, 409, 410, 415, 416, 422, 429]

# Links lead to names of tables that are taken by other routes.
[[operations]]
include-tag = "tables"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 405, 409, 415, 422, 429]

# The bytes of a blob are of the type that its uploader named, valid or not.
[[operations]]
include-operation-id = "downloadBlob"
checks.response_schema_conformance.enabled = false
`

/** The bodies of imports, which Schemathesis does not know. */
const FILES = `
import json
import schemathesis

@schemathesis.serializer("application/x-tson")
def tson(context, value):
    return {"json": value}

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return {"data": value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()}
`

function failuresIn(output: string): string {
  const begin = output.search(/^=+ (?:FAILURES|ERRORS) =+$/m)
  return output.slice(Math.max(begin, 0)).slice(0, 20_000)
}
