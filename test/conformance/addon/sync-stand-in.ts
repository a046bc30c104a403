import { exchange, type TableOperations } from './exchange'

/** The parts of the add-on's request to `/sync` that an answer repeats or that are exchanged. */
interface SyncRequest {
  readonly schema: Readonly<Record<string, { readonly markedForSync?: boolean }>>
  readonly changes: TableOperations
}

/**
 * Answers the add-on's `POST /sync`, which the server does not serve yet and the add-on does before
 * and after each login (protocol.md Appendix A.1): as if nothing had ever changed, or with the objects
 * of `exchanged` tables by REST. It believes the tokens that the server believes, and shows a user who
 * is deactivated what nobody sees: the add-on does not log in while a sync before it fails.
 */
export async function answerSync(
  databaseUrl: string,
  { headers, body }: RequestInit = {},
  exchanged: readonly string[] = [],
): Promise<Response> {
  const authorization = new Headers(headers).get('authorization')
  const subject = await findSubject(databaseUrl, authorization)
  if (subject === undefined) return new Response(null, { status: 401 })
  const { schema, changes } = (await new Response(body ?? null).json()) as SyncRequest
  return Response.json({
    serverRevision: '[1,"1"]',
    dbId: 'main',
    realms: subject === null ? ['rlm-public'] : ['rlm-public', subject],
    inviteRealms: [],
    schema,
    changes:
      authorization === null || exchanged.length === 0
        ? []
        : await exchange(databaseUrl, authorization, exchanged, changes),
    rejections: [],
    yMessages: [],
  })
}

/** Null for an anonymous caller, undefined for a token that the server rejects. */
async function findSubject(
  databaseUrl: string,
  authorization: string | null,
): Promise<string | null | undefined> {
  if (authorization === null) return null
  const answer = await fetch(`${databaseUrl}/token/validate`, { headers: { authorization } })
  if (answer.status === 403) return null
  if (!answer.ok) return undefined
  const { claims } = (await answer.json()) as { claims: { sub: string } }
  return claims.sub
}
