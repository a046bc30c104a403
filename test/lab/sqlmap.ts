import { setupExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import type { Finding } from './experiment'

/** How sqlmap is started here, if it is installed (`pip install sqlmap`). */
export function findSqlmap(): string | undefined {
  return Bun.which('sqlmap') ?? undefined
}

/** Asks nothing, forgets nothing from earlier, tries what SQLite could answer to. */
const MANNER = (
  '--batch --flush-session --disable-coloring --dbms=SQLite --level=3 --risk=2 ' +
  '--technique=BEUS --threads=4 --ignore-code=*'
).split(' ')

/** Promise 30: sqlmap tries every place where a caller can put a name or a value. */
export async function runSqlmap(passes: number): Promise<Finding> {
  const sqlmap = findSqlmap()
  if (sqlmap === undefined) throw new Error('sqlmap is not installed')
  await using executable = await setupExecutable()
  using folder = temporaryFolder()
  const root = await executable.root()
  await root.post('/public/items', [{ id: 'a', country: 'SE', n: 1 }])
  await root.post('/public/plain', [{ id: 'a', title: 'x' }])
  const { main } = executable
  const targets: string[][] = [
    ['-u', `${main}/public/items?country=SE*&n=1*`],
    ['-u', `${main}/public/items?country*=SE`],
    ['-u', `${main}/public/plain/a*`],
    ['-u', `${main}/public/plain*`],
    ['-u', `${main}/public/items?$limit=1*&$after=s0*`],
    [
      '-u',
      `${main}/all/plain`,
      '--method',
      'POST',
      '--data',
      '{"id":"a*","realmId":"rlm-public*","x*":"y*"}',
    ],
    [
      '-u',
      `${main}/token`,
      '--method',
      'POST',
      '--data',
      '{"grant_type":"client_credentials","client_id":"a*","client_secret":"b*","scopes":["ACCESS_DB*"]}',
    ],
  ]
  const places = targets.flat().join('').split('*').length - 1
  const problems: string[] = []
  for (const target of Array.from({ length: passes }, () => targets).flat()) {
    const child = Bun.spawn(
      [
        sqlmap,
        ...target,
        ...MANNER,
        '--output-dir',
        folder.path,
        '--headers',
        `Authorization: Bearer ${root.token}\nContent-Type: application/json`,
      ],
      { stdout: 'pipe', stderr: 'pipe', stdin: 'ignore' },
    )
    const output = await child.stdout.text()
    const isClean = /do(?:es)? not (?:appear|seem) to be injectable|no parameter/i.test(output)
    const isFound = /is vulnerable|identified the following injection|is '.*' injectable/i.test(
      output,
    )
    if (isFound || !isClean) problems.push(`${target.join(' ')}\n${output.slice(-3_000)}`)
  }
  return { facts: `${targets.length} addresses with ${places} places`, problems }
}
