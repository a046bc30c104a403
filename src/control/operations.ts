import { adminOperations } from './admin-logins'
import { auditOperations } from './audit'
import { backupOperations } from './backups'
import { blobOperations } from './blobs'
import { clientOperations } from './clients'
import { databaseOperations } from './databases'
import { deviceOperations } from './devices'
import { jobOperations } from './jobs'
import { liveOperations } from './live'
import { machineOperations } from './machine'
import { mailOperations } from './mail'
import { mailsOperations } from './mails'
import type { Given } from './fields'
import { keptBackupOperations } from './kept-backups'
import { type AnyOperation, type Named, onFolder, type Operation } from './operation'
import { objectOperations } from './objects'
import { policyOperations } from './policy'
import { providerOperations } from './providers'
import { realmOperations } from './realms'
import { doctorOperations } from './doctor'
import { seeAsOperations } from './see-as'
import { sharingOperations } from './sharing'
import { statusOperations } from './status'
import { testOperations } from './testing'
import { transferOperations } from './transfers'
import { userOperations } from './users'
import { verifyOperations } from './verify'

/** All operations by name. */
const OPERATIONS = {
  /** Answers when the token is right. */
  hello: onFolder(
    { scopes: 'operator', effect: 'read', summary: 'Answer', input: {} },
    async () => ({}),
  ),
  ...databaseOperations,
  ...clientOperations,
  ...blobOperations,
  ...objectOperations,
  ...seeAsOperations,
  ...liveOperations,
  ...deviceOperations,
  ...realmOperations,
  ...sharingOperations,
  ...machineOperations,
  ...backupOperations,
  ...keptBackupOperations,
  ...mailOperations,
  ...mailsOperations,
  ...userOperations,
  ...policyOperations,
  ...providerOperations,
  ...transferOperations,
  ...jobOperations,
  ...verifyOperations,
  ...auditOperations,
  ...adminOperations,
  ...statusOperations,
  ...doctorOperations,
  ...testOperations,
}

type Operations = typeof OPERATIONS
export type OperationName = keyof Operations
export type InputOf<Name extends OperationName> = Given<Operations[Name]['input']>
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>

/** The operation of this name. */
export function getOperation<Name extends OperationName>(
  name: Name,
): Named<Operation<Operations[Name]['input'], OutputOf<Name>>> {
  const operations: {
    [N in OperationName]: Operation<Operations[N]['input'], OutputOf<N>>
  } = OPERATIONS
  return { ...operations[name], name }
}

/** The names of all operations. */
export function operationNames(): readonly OperationName[] {
  return Object.keys(OPERATIONS) as OperationName[]
}

/** The operation with a name that came over the wire, without its types. */
export function findOperation(name: string): Named<AnyOperation> | undefined {
  if (!Object.hasOwn(OPERATIONS, name)) return undefined
  const operation: AnyOperation = OPERATIONS[name as OperationName]
  return { ...operation, name }
}
