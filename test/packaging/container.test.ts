import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../src/packaging/folders'
import { readConfig } from '../../src/config/config'

const FOLDER = join(ROOT, 'docs', 'container')
const recipe = readFileSync(join(FOLDER, 'Containerfile'), 'utf8')
const compose = Bun.YAML.parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8')) as {
  readonly services: {
    readonly satchel: {
      readonly environment: Readonly<Record<string, string>>
      readonly read_only: boolean
      readonly volumes: readonly string[]
      readonly cap_drop: readonly string[]
    }
  }
}

test('the settings of the container and of its composition are valid, and not in development', () => {
  const [, line = ''] = /^ENV (.*)$/m.exec(recipe) ?? []
  const own = Object.fromEntries(line.split(' ').map((pair) => pair.split('=')))
  const environment = { ...own, ...compose.services.satchel.environment }
  expect(readConfig({ environment })).toMatchObject({
    data: '/data',
    host: '0.0.0.0',
    port: 7080,
    development: false,
    smtpUrl: 'smtp://mail:1025',
  })
})

test('the container runs as another user than root, on a root that is read-only', () => {
  expect(recipe).toContain('\nUSER satchel\n')
  const { read_only: isReadOnly, cap_drop: dropped, volumes } = compose.services.satchel
  expect({ isReadOnly, dropped, volumes }).toEqual({
    isReadOnly: true,
    dropped: ['ALL'],
    volumes: ['data:/data'],
  })
})
