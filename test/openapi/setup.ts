import { setupData } from '../http/setup'
import { faultsOf } from './json-schema'

export interface Media {
  readonly schema: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

export interface Described {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, Media>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: unknown
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Described>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-required-scopes'?: readonly string[]
}

/** A call of the server's own. */
export interface Webhook {
  readonly parameters: readonly Parameter[]
  readonly requestBody: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Described>>
}

export interface NamedSchema {
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

export interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Webhook }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, NamedSchema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, object>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

const TABLE = { todoItems: '@id, title' }

export async function setupDocument(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupData(flags)
  await server.push(TABLE)
  const response = await fetch(`${server.url}/openapi/json`)
  const document = (await response.json()) as Document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  )
  const resolve = (reference: string) => {
    let found: unknown = document
    for (const name of reference.replace('#/', '').split('/')) {
      found = (found as Readonly<Record<string, unknown>> | undefined)?.[name]
    }
    if (found === undefined) throw new Error(`nothing at ${reference}`)
    return found
  }
  return {
    ...server,
    response,
    document,
    operations,
    resolve,
    parametersOf: (operation: Operation) =>
      operation.parameters.map((given) =>
        '$ref' in given ? (resolve(given.$ref) as Parameter) : given,
      ),
    faults: (schema: unknown, value: unknown) => faultsOf(schema, value, resolve),
  }
}

/** An address of a path with something in the place of each parameter. */
export function fill(path: string): string {
  return path
    .replace('{database}', 'main')
    .replace('{table}', 'todoItems')
    .replace('{key}', 'nothing')
    .replace('{user}', 'alice@example.com')
    .replace('{blob}', 'nothing')
    .replace('{asset}', 'nothing')
    .replace('{provider}', 'nothing')
}
