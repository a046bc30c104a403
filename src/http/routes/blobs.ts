import { Elysia } from 'elysia'
import { findReadableBlob } from '../../domain/access/blob'
import { answer } from '../answer'
import { bearer } from '../bearer'
import { segment } from '../call'
import type { HttpContext } from '../context'
import { blobAnswer } from './blob-answer'
import { receiveUpload, createUploadQuotas } from './blob-upload'

/** Uploads and downloads of blobs (spec.md §4, §4.5, protocol.md §8). */
export function blobRoutes(http: HttpContext) {
  const quotas = createUploadQuotas()
  return (
    new Elysia({ name: 'blobs' })
      // Not counted: the add-on transfers each blob in a request of its own (promise 37).
      .use(bearer(http, { isCounted: false }))
      .put(
        '/:database/blob/:blob',
        async ({ call, host, actor }) => {
          const id = segment(call, 2)
          const ref = await receiveUpload(http, { call, host, actor, id, quotas })
          return answer(call, JSON.stringify({ ref }))
        },
        { door: 'uploadBlob', parse: 'none', detail: { operationId: 'uploadBlob' } },
      )
      .get(
        '/:database/blob/:blob',
        async ({ call, host, actor }) => {
          const blob = await findReadableBlob(host.database, actor, segment(call, 2))
          return await blobAnswer(http, call, host, blob)
        },
        { door: 'downloadBlob', parse: 'none', detail: { operationId: 'downloadBlob' } },
      )
  )
}
