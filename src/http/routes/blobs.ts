import { Elysia } from 'elysia'
import { findReadableBlob } from '../../domain/access/blob'
import { requireScopes } from '../../domain/access/actor'
import { answer } from '../answer'
import { bearer } from '../bearer'
import { blobAnswer } from './blob-answer'
import { takeUpload, createUploadShares } from './blob-upload'
import { segment } from '../call'
import type { HttpContext } from '../context'

/** `/blob` (spec.md §4, §4.5, protocol.md §8). */
export function blobRoutes(http: HttpContext) {
  const shares = createUploadShares()
  return (
    new Elysia({ name: 'blobs' })
      // The add-on fetches and brings as many as there are, one by one (promise 37).
      .use(bearer(http, { isCounted: false }))
      .put(
        '/:database/blob/:blob',
        async ({ call, host, actor }) => {
          const id = segment(call, 2)
          const ref = await takeUpload(http, { call, host, actor, id, shares })
          return answer(call, JSON.stringify({ ref }))
        },
        { scopes: ['ACCESS_DB'], parse: 'none', detail: { operationId: 'uploadBlob' } },
      )
      .get(
        '/:database/blob/:blob',
        async ({ call, host, actor }) => {
          if (actor.subject !== null) requireScopes(actor, ['ACCESS_DB'])
          const blob = await findReadableBlob(host.database, actor, segment(call, 2))
          return await blobAnswer(http, call, host.blobs, blob)
        },
        { scopes: null, parse: 'none', detail: { operationId: 'downloadBlob' } },
      )
  )
}
