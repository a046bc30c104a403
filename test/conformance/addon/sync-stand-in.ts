/** What the add-on's request to `/sync` holds that an answer must repeat. */
interface SyncRequest {
  readonly schema: unknown
}

/**
 * Answers the add-on's `POST /sync`, which the server does not serve yet and the add-on does before
 * and after each login, as if nothing had ever changed (protocol.md Appendix A.1). It believes the
 * tokens that the server believes.
 */
export async function answerSync(
  databaseUrl: string,
  { headers, body }: RequestInit = {},
): Promise<Response> {
  const authorization = new Headers(headers).get('authorization')
  const subject = await findSubject(databaseUrl, authorization)
  if (subject === undefined) return new Response(null, { status: 401 })
  const { schema } = (await new Response(body ?? null).json()) as SyncRequest
  return Response.json({
    serverRevision: '[1,"1"]',
    dbId: 'main',
    realms: subject === null ? ['rlm-public'] : ['rlm-public', subject],
    inviteRealms: [],
    schema,
    changes: [],
    rejections: [],
    yMessages: [],
  })
}

/** Null for nobody, undefined for a token that the server does not take. */
async function findSubject(
  databaseUrl: string,
  authorization: string | null,
): Promise<string | null | undefined> {
  if (authorization === null) return null
  const answer = await fetch(`${databaseUrl}/token/validate`, { headers: { authorization } })
  if (!answer.ok) return undefined
  const { claims } = (await answer.json()) as { claims: { sub: string } }
  return claims.sub
}
