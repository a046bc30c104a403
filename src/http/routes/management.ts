import { type AnyElysia, Elysia } from 'elysia'
import { connectClient } from '../../domain/database/client'
import { answer } from '../answer'
import { bearerToken, inDatabase } from '../caller'
import type { HttpContext } from '../context'
import { MOST_BYTES, requireFields } from './operations'

/** The routes of the public command line client, `dexie-cloud`, that are no operations (protocol.md §9). */
export function managementRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'management' }).post(
    '/:database/clients/connect',
    ...inDatabase(http, 'connectClient', async ({ call, opened }) => {
      http.limits.request(call, opened, null)
      const token = bearerToken(call.sent.headers.get('authorization'))
      const source = { scratch: opened.scratch, maxBytes: MOST_BYTES }
      try {
        const client = await opened.authority.proofs.spend(token, (email) =>
          http.bodies.json(call, source, (given) => {
            const requirePending = requireFields(given)['requireUnverified'] === true
            const { address } = call
            const operation = 'client.connect'
            const change = { operation, database: opened.name, caller: email, address }
            return http.record(change, (record) =>
              opened.database.write((tx) => {
                record(tx)
                return connectClient(tx, opened.clock, email, requirePending)
              }),
            )
          }),
        )
        return answer(call, JSON.stringify(client), { headers: NO_STORE })
      } catch (error) {
        throw http.limits.failure(call, error)
      }
    }),
  )
}

const NO_STORE = { 'Cache-Control': 'no-store' }
