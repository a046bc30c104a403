import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../../domain/value/error'
import type { Routes } from '../../openapi/document'
import type { Assets } from '../../openapi/page'
import { answer } from '../answer'
import { segment } from '../call'
import { route } from '../caller'
import type { HttpContext, RestOperation } from '../context'

/**
 * The documentation: for programs at `/openapi/json`, for people at `/openapi`, without a token. It is
 * loaded on the first request, so it does not slow down the start.
 */
export function openapiRoutes(
  http: HttpContext,
  operations: readonly RestOperation[],
  app: () => AnyElysia,
): AnyElysia {
  let document: string | undefined
  let assets: Promise<Assets> | undefined

  async function findAssets(): Promise<Assets> {
    const { nameAssets } = await import('../../openapi/page')
    return (assets ??= nameAssets())
  }

  async function describeInterface(): Promise<string> {
    const { toOpenAPISchema } = await import('@elysiajs/openapi/openapi')
    const { createDocument } = await import('../../openapi/document')
    const { paths } = toOpenAPISchema(app(), { staticFile: false })
    return JSON.stringify(createDocument(paths as Routes, operations, http.version))
  }

  return new Elysia({ name: 'openapi' })
    .get(
      '/openapi',
      ...route('readDocumentation', async (call) => {
        http.limits.other(call)
        const { page, PAGE_POLICY } = await import('../../openapi/page')
        return answer(call, page(await findAssets()), {
          type: 'text/html;charset=utf-8',
          headers: { 'Cache-Control': REVALIDATE, 'Content-Security-Policy': PAGE_POLICY },
        })
      }),
    )
    .get(
      '/openapi/json',
      ...route('describeInterface', async (call) => {
        http.limits.other(call)
        document ??= await describeInterface()
        return answer(call, document, { headers: { 'Cache-Control': REVALIDATE } })
      }),
    )
    .get(
      '/openapi/assets/:asset',
      ...route('loadAsset', async (call) => {
        http.limits.other(call)
        const { served } = await findAssets()
        const asset = served.get(segment(call, 2))
        if (asset === undefined) {
          throw new SatchelError('UNKNOWN_ROUTE', 'The page has no such file: reload the page')
        }
        return answer(call, Bun.file(asset.path).stream(), {
          type: asset.type,
          headers: { 'Cache-Control': IMMUTABLE },
        })
      }),
    )
}

/** The documentation changes with the version of the server. */
const REVALIDATE = 'no-cache'
/** The file name contains a hash of the content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
