import { listProviders, removeProvider } from '../domain/database/provider'
import { callbackAddress } from '../auth/provider/provider-login'
import { flag, optional, text, texts } from './fields'
import { operation } from './operation'
import type { OpenDatabase } from '../host/workspace'
import type { Provider, ProviderOptions } from '../domain/store/records'

export const providerOperations = {
  /** The secret is the upload. */
  'provider.add': operation(
    {
      database: text,
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
    async (workspace, { database, name, ...input }, { upload }) => {
      const open = await workspace.open(database)
      const secret = upload === undefined ? null : await new Response(upload).text()
      const options = optionsOf(input)
      const provider = await open.providers.put({ ...input, id: name, secret, options })
      return await describe(open, provider)
    },
  ),

  'provider.list': operation({ database: text }, async (workspace, input) => {
    const open = await workspace.open(input.database)
    const providers = await open.database.read(listProviders)
    return await Promise.all(providers.map((provider) => describe(open, provider)))
  }),

  'provider.remove': operation(
    { database: text, name: text },
    async (workspace, { name, ...input }) => {
      const { database } = await workspace.open(input.database)
      await database.write((tx) => removeProvider(tx, name))
      return { name }
    },
  ),

  'provider.test': operation({ database: text, name: text }, async (workspace, input) => {
    const { providers, address } = await workspace.open(input.database)
    return await providers.check(input.name, await address())
  }),
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

/** Without what proves us, which is printed nowhere. */
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
