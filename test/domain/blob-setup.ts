import { type Actor, ANONYMOUS } from '../../src/domain/actor'
import { type BlobLimits, putBlob } from '../../src/domain/blob-upload'
import type { Scope } from '../../src/domain/scope'
import type { BlobUsage, Database } from '../../src/domain/store'
import type { TestClock } from '../auth/setup'

export function person(id: string, ...scopes: Scope[]): Actor {
  return { ...ANONYMOUS, subject: id, scopes: new Set<Scope>(['ACCESS_DB', ...scopes]) }
}

export const administrator = person('administrator', 'GLOBAL_READ', 'GLOBAL_WRITE')

export const ANY_AMOUNT: BlobLimits = { blob: 2 ** 30, database: null, user: null }

/** The hash of a text, as the blob store would give it. */
export function hashOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}

/** What whoever uploads this text under this id is told. */
export function uploadText(
  { database, clock }: { readonly database: Database; readonly clock: TestClock },
  actor: Actor,
  id: string,
  text = id,
  { type = 'text/plain', limits = ANY_AMOUNT } = {},
): Promise<string> {
  const upload = { id, hash: hashOf(text), size: Buffer.byteLength(text), type, now: clock.now() }
  return putBlob(database, actor, upload, limits)
}

/** What somebody uploaded, or with null all there is. */
export function usageOf(database: Database, subject: string | null): Promise<BlobUsage> {
  return database.read(async (tx) => {
    const realm = subject === null ? undefined : await tx.realms.find(subject)
    return await tx.blobs.usage(subject === null ? null : (realm?.ref ?? -1))
  })
}
