import { describe, expect, test } from 'bun:test'
import { version } from '../../package.json'
import { doorOf, scopesOf } from '../../src/domain/access/door'
import { SCOPES } from '../../src/domain/value/scope'
import { STATUS } from '../../src/openapi/status'
import { fill, setupDocument } from './setup'

describe('GET /openapi/json', () => {
  test('is public, and asked for again after an upgrade', async () => {
    await using server = await setupDocument()
    const { status, headers } = server.response
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json;charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-request-id')).not.toBeNull()
    expect(server.document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(server.document.info).toMatchObject({ title: 'Satchel', version })
  })

  test('describes the routes of spec.md §4 and the service, and nothing else', async () => {
    await using server = await setupDocument()
    const ids = server.operations.map(
      ({ method, path, operation }) => `${method} ${path} ${operation.operationId}`,
    )
    const views = ['all', 'my', 'public'].flatMap((view) => [
      `GET /{database}/${view}/{table} ${view}List`,
      `POST /{database}/${view}/{table} ${view}Upsert`,
      `GET /{database}/${view}/{table}/{key} ${view}Get`,
      `PUT /{database}/${view}/{table}/{key} ${view}Replace`,
      `DELETE /{database}/${view}/{table}/{key} ${view}Delete`,
    ])
    expect(ids.toSorted()).toEqual(
      [
        ...views,
        'PUT /{database}/blob/{blob} uploadBlob',
        'GET /{database}/blob/{blob} downloadBlob',
        'GET /{database}/explain explain',
        'GET /{database}/{table} tableList',
        'POST /{database}/{table} tableUpsert',
        'GET /{database}/{table}/{key} tableGet',
        'PUT /{database}/{table}/{key} tableReplace',
        'DELETE /{database}/{table}/{key} tableDelete',
        'GET /{database}/changes listen',
        'POST /{database}/sync sync',
        'GET /{database}/users listUsers',
        'POST /{database}/users writeUsers',
        'GET /{database}/users/{user} getUser',
        'DELETE /{database}/users/{user} deleteUser',
        'POST /{database}/token requestToken',
        'GET /{database}/token/validate validateToken',
        'GET /{database}/.well-known/jwks.json listPublicKeys',
        'GET /{database}/auth-providers listLoginProviders',
        'GET /{database}/oauth/login/{provider} beginLogin',
        'GET /{database}/invitation showInvitation',
        'POST /{database}/invitation answerInvitation',
        'GET /{database}/clients listClients',
        'POST /{database}/clients/add addClient',
        'POST /{database}/clients/connect connectClient',
        'POST /{database}/clients/delete deleteClients',
        'POST /{database}/clients/rotate rotateClient',
        'POST /{database}/whitelist changeOrigins',
        'POST /{database}/clear-realm clearRealm',
        'POST /{database}/clear-table clearTable',
        'POST /{database}/delete-db deleteDatabase',
        'POST /{database}/undelete-db undeleteDatabase',
        'POST /{database}/import importFile',
        'POST /{database}/import/blobs importBlobs',
        'POST /{database}/import/stream importLines',
        'GET /{database}/export exportDatabase',
        'GET /{database}/export/blobs exportBlobs',
        'GET /{database}/export/stream exportLines',
        'GET /{database}/templates/pull pullTemplates',
        'POST /{database}/templates/push pushTemplates',
        'POST /{database}/templates/reset resetTemplates',
        'POST /{database}/templates/test-send testTemplate',
        'POST /token requestServiceToken',
        'POST /service/token requestServiceTokenOfSdk',
        'POST /create-db createDatabase',
        'POST /service/create-db createDatabaseOfSdk',
        'GET / describeService',
        'GET /docs readGuides',
        'GET /docs/{guide} readGuide',
        'GET /health checkHealth',
        'GET /ready checkReadiness',
        'GET /openapi readDocumentation',
        'GET /openapi/json describeInterface',
        'GET /openapi/assets/{asset} loadAsset',
      ].toSorted(),
    )
  })

  test('names the methods that the router knows at an address with parameters', async () => {
    await using server = await setupDocument()
    for (const [path, methods] of Object.entries(server.document.paths)) {
      const refused = await fetch(server.url + fill(path), { method: 'PATCH' })
      expect(refused.status).toBe(405)
      const allowed = (refused.headers.get('allow')?.toLowerCase().split(', ') ?? []).filter(
        (method) => method !== 'head' && method !== 'options',
      )
      expect(allowed.toSorted()).toEqual(Object.keys(methods).toSorted())
    }
  })

  test('says the scopes of each door', async () => {
    await using server = await setupDocument()
    for (const { operation } of server.operations) {
      const { operationId, security, description, 'x-required-scopes': scopes } = operation
      const door = doorOf(operationId)
      const none = typeof door === 'object' && 'withToken' in door ? [{}] : []
      const bearers = security.filter((requirement) => 'bearer' in requirement)
      if (scopes === undefined) expect(bearers).toEqual([])
      else expect(security).toEqual([{ bearer: scopes }, { client: scopes }, ...none])
      expect(scopes ?? []).toEqual([...(scopesOf(door) ?? [])])
      for (const scope of scopes ?? []) expect(description).toContain(`\`${scope}\``)
    }
  })

  test('is an OpenAPI document', async () => {
    await using server = await setupDocument()
    const { document, operations, parametersOf } = server
    const tags = document.tags.map(({ name }) => name)
    const schemes = Object.keys(document.components.securitySchemes)
    for (const { path, operation } of operations) {
      expect(path).toStartWith('/')
      expect(operation.summary).not.toBe('')
      for (const tag of operation.tags) expect(tags).toContain(tag)
      for (const requirement of operation.security) {
        for (const scheme of Object.keys(requirement)) expect(schemes).toContain(scheme)
      }
      const parameters = parametersOf(operation)
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      const templates = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
      expect(inPath.map(({ name }) => name)).toEqual(templates)
      expect(inPath.every(({ required }) => required === true)).toBe(true)
      const places = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      expect(new Set(places).size).toBe(places.length)
      expect(Object.keys(operation.responses)[0]).toMatch(/^[123]\d\d$/)
      for (const [status, { description }] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^(?:101|[2-5]\d\d)$/)
        expect(description).not.toBe('')
      }
    }
  })

  test('refers to everything it has, and has everything it refers to', async () => {
    await using server = await setupDocument()
    const { document, resolve } = server
    const references = new Set(valuesOf('$ref', document).map(String))
    for (const reference of references) expect(resolve(reference)).toBeDefined()
    const { schemas, parameters, headers } = document.components
    const components = [
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
      ...Object.keys(parameters).map((name) => `#/components/parameters/${name}`),
      ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
    ]
    expect([...references].toSorted()).toEqual(components.toSorted())
  })

  test('has every error code with its status', async () => {
    await using server = await setupDocument()
    const { document } = server
    expect(document.components.schemas['Error']).toMatchObject({
      properties: { code: { enum: Object.keys(STATUS) } },
    })
    for (const [code, status] of Object.entries(STATUS)) {
      expect(document.info.description).toContain(`| \`${code}\` | ${status} | `)
    }
  })

  test('has every scope, and says how it is got', async () => {
    await using server = await setupDocument()
    const { schemas, securitySchemes } = server.document.components
    expect(schemas['Scope']?.enum).toEqual([...SCOPES])
    const [offered = {}] = valuesOf('scopes', securitySchemes) as object[]
    expect(Object.keys(offered).toSorted()).toEqual(SCOPES.toSorted())
  })
})

/** Every value under this name, however deep. */
function valuesOf(name: string, tree: unknown): unknown[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([key, value]) => [
    ...(key === name ? [value] : []),
    ...valuesOf(name, value),
  ])
}
