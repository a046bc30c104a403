import { callbackAddress } from '../auth/provider/provider-login'
import { MANAGE } from '../domain/access/door'
import { listProviders, removeProvider } from '../domain/database/provider'
import type { Provider, ProviderOptions } from '../domain/store/records'
import { SCOPES } from '../domain/value/scope'
import type { OpenDatabase } from '../host/host'
import { flag, optional, text, texts } from './fields'
import { onDatabase, readUpload } from './operation'

export const providerOperations = {
  /** The secret is the upload. A provider says who logs in, so that adding one needs all that anybody may do. */
  'provider.add': onDatabase(
    {
      scopes: SCOPES,
      effect: 'write',
      summary: 'Add or replace a login provider',
      input: {
        type: text,
        name: optional(text),
        displayName: optional(text),
        iconUrl: optional(text),
        clientId: text,
        scopes: optional(texts),
        tenant: optional(text),
        teamId: optional(text),
        keyId: optional(text),
        issuer: optional(text),
        authorizationUrl: optional(text),
        tokenUrl: optional(text),
        userInfoUrl: optional(text),
        trustsEmail: flag,
      },
    },
    async (opened, { name, ...input }, { upload, write }) => {
      const secret = upload === undefined ? null : await readUpload({ upload })
      const options = optionsOf(input)
      const provider = await opened.providers.put({ ...input, id: name, secret, options }, write)
      return await describe(opened, provider)
    },
  ),

  'provider.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the login providers', input: {} },
    async (opened) => {
      const providers = await opened.database.read(listProviders)
      return await Promise.all(providers.map((provider) => describe(opened, provider)))
    },
  ),

  'provider.remove': onDatabase(
    {
      scopes: MANAGE,
      effect: 'destroy',
      summary: 'Remove a login provider',
      input: { name: text },
    },
    async (_host, { name }, { write }) => {
      await write((tx) => removeProvider(tx, name))
      return { name }
    },
  ),

  'provider.test': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Try a login provider', input: { name: text } },
    async ({ providers, address }, { name }) => providers.check(name, await address()),
  ),
}

type Given = { readonly [Name in keyof ProviderOptions]: string | boolean | null }

function optionsOf(given: Given): ProviderOptions {
  const { tenant, teamId, keyId, issuer, authorizationUrl, tokenUrl, userInfoUrl } = given
  const texts = { tenant, teamId, keyId, issuer, authorizationUrl, tokenUrl, userInfoUrl }
  const options = Object.entries(texts).filter(([, value]) => value !== null)
  return {
    ...Object.fromEntries(options),
    ...(given.trustsEmail === true ? { trustsEmail: true } : {}),
  }
}

/** Without the client secret, which is never printed. */
async function describe({ address }: OpenDatabase, provider: Provider) {
  const { sealedSecret, id: name, ...rest } = provider
  const base = await address()
  return {
    name,
    ...rest,
    hasSecret: sealedSecret !== null,
    callbackUrl: base === null ? null : callbackAddress(base, name),
  }
}
