import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../../domain/value/error'
import { answer } from '../answer'
import { callOf, segment } from '../call'
import type { HttpContext } from '../context'
import type { Routes } from '../../openapi/document'
import type { Assets } from '../../openapi/page'

/**
 * The interface described: for programs at `/openapi/json`, for people at `/openapi`. Everybody may
 * read it. Nothing of it is loaded before it is asked for, so that it costs the start nothing.
 */
export function openapiRoutes(http: HttpContext, app: () => AnyElysia): AnyElysia {
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
    return JSON.stringify(createDocument(paths as Routes, http.version))
  }

  return new Elysia({ name: 'openapi' })
    .get(
      '/openapi',
      async ({ request }) => {
        const { page, PAGE_POLICY } = await import('../../openapi/page')
        return answer(callOf(request), page(await findAssets()), {
          type: 'text/html;charset=utf-8',
          headers: { 'Cache-Control': ASK_AGAIN, 'Content-Security-Policy': PAGE_POLICY },
        })
      },
      { detail: { operationId: 'readDocumentation' } },
    )
    .get(
      '/openapi/json',
      async ({ request }) => {
        document ??= await describeInterface()
        return answer(callOf(request), document, { headers: { 'Cache-Control': ASK_AGAIN } })
      },
      { detail: { operationId: 'describeInterface' } },
    )
    .get(
      '/openapi/assets/:asset',
      async ({ request }) => {
        const call = callOf(request)
        const { served } = await findAssets()
        const asset = served.get(segment(call, 2))
        if (asset === undefined) {
          throw new SatchelError('UNKNOWN_ROUTE', 'The page has no such file: load it again')
        }
        return answer(call, Bun.file(asset.path).stream(), {
          type: asset.type,
          headers: { 'Cache-Control': KEEP },
        })
      },
      { detail: { operationId: 'loadAsset' } },
    )
}

/** The next version describes itself otherwise. */
const ASK_AGAIN = 'no-cache'
/** Another content has another name. */
const KEEP = 'public, max-age=31536000, immutable'
