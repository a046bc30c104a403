import { Elysia } from 'elysia'
import { findReadableBlob } from '../../domain/access/blob'
import { answer } from '../answer'
import { segment } from '../call'
import { behind } from '../caller'
import type { HttpContext } from '../context'
import { blobAnswer } from './blob-answer'
import { receiveUpload, createUploadQuotas } from './blob-upload'

/** Uploads and downloads of blobs (spec.md §4, §4.5, protocol.md §8). */
export function blobRoutes(http: HttpContext) {
  const quotas = createUploadQuotas()
  // The add-on transfers each blob in a request of its own (promise 37).
  const notCounted = { isCounted: false }
  return new Elysia({ name: 'blobs' })
    .put(
      '/:database/blob/:blob',
      ...behind(
        http,
        'uploadBlob',
        async (request) => {
          const { call } = request
          const ref = await receiveUpload(http, { ...request, id: segment(call, 2), quotas })
          return answer(call, JSON.stringify({ ref }))
        },
        notCounted,
      ),
    )
    .get(
      '/:database/blob/:blob',
      ...behind(
        http,
        'downloadBlob',
        async ({ call, opened, actor }) => {
          const blob = await findReadableBlob(opened.database, actor, segment(call, 2))
          return await blobAnswer(http, call, opened, blob)
        },
        notCounted,
      ),
    )
}
