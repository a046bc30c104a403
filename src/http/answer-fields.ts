import { requireWriter } from '../domain/access/actor'
import { answer } from './answer'
import { type Fields, MOST_BYTES, requireFields } from './body/fields'
import type { Authorised } from './caller'
import type { HttpContext } from './context'

/**
 * Answers a request whose body is a JSON object with the JSON that `work` makes of it. The caller must be
 * able to write, which is checked before the body is read; `work` checks again where it writes.
 */
export async function answerFields(
  http: HttpContext,
  { call, host, actor }: Authorised,
  work: (body: Fields) => Promise<unknown>,
): Promise<Response> {
  const { database, clock, scratch } = host
  await database.read((tx) => requireWriter(tx, actor, clock.now()))
  return await http.bodies.json(call, { scratch, maxBytes: MOST_BYTES }, async (body) =>
    answer(call, JSON.stringify(await work(requireFields(body)))),
  )
}
