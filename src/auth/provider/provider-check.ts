import type { Configuration } from 'openid-client'
import { providerError, providerFailure } from './provider-client'
import { callbackAddress } from './provider-login'
import type { Provider } from '../../domain/store/records'

/** What a provider says of itself and of us. */
export interface ProviderCheck {
  readonly issuer: string
  readonly authorizationUrl: string | null
  readonly tokenUrl: string | null
  /** The address that must be known to the provider, or null while ours is not known. */
  readonly callbackUrl: string | null
  /** How it answers a code that it did not give: a wrong client id or secret it refuses first. */
  readonly client: 'accepted' | 'refused'
  /** Its word for that. */
  readonly answer: string
}

/** Asks the provider for tokens with a code that cannot be right. Throws `PROVIDER_FAILED`. */
export async function checkAtProvider(
  provider: Provider,
  client: Configuration,
  address: string | null,
): Promise<ProviderCheck> {
  const { issuer, authorization_endpoint, token_endpoint } = client.serverMetadata()
  const callbackUrl = address === null ? null : callbackAddress(address, provider.id)
  const answer = await tryCode(provider, client, callbackUrl ?? 'http://127.0.0.1/')
  return {
    issuer,
    authorizationUrl: authorization_endpoint ?? null,
    tokenUrl: token_endpoint ?? null,
    callbackUrl,
    client: REFUSALS.has(answer) ? 'refused' : 'accepted',
    answer,
  }
}

/** RFC 6749 §5.2, and GitHub's word for it. */
const REFUSALS = new Set(['invalid_client', 'unauthorized_client', 'incorrect_client_credentials'])

async function tryCode(
  provider: Provider,
  client: Configuration,
  callback: string,
): Promise<string> {
  const { genericGrantRequest } = await import('openid-client')
  try {
    await genericGrantRequest(client, 'authorization_code', {
      code: 'satchel-provider-test',
      redirect_uri: callback,
      // As long as a verifier must be.
      code_verifier: 'satchel-provider-test'.padEnd(43, '-'),
    })
  } catch (error) {
    const answer = providerError(error)
    if (answer !== undefined) return answer
    throw providerFailure(provider, error)
  }
  return 'a token'
}
