import { blobOperations } from './blobs'
import { clientOperations } from './clients'
import { databaseOperations } from './databases'
import { mailOperations } from './mail'
import { operation, type Operation } from './operation'
import { originOperations } from './origins'
import { policyOperations } from './policies'
import { providerOperations } from './providers'
import { schemaOperations } from './schemas'
import { tokenOperations } from './tokens'
import { transferOperations } from './transfers'
import { userOperations } from './users'

/** Everything commands can have done, by name. */
const OPERATIONS = {
  /** Answers when the token is right. */
  hello: operation({}, async () => ({})),
  ...databaseOperations,
  ...clientOperations,
  ...blobOperations,
  ...mailOperations,
  ...originOperations,
  ...userOperations,
  ...policyOperations,
  ...providerOperations,
  ...schemaOperations,
  ...tokenOperations,
  ...transferOperations,
}

type Operations = typeof OPERATIONS
export type OperationName = keyof Operations
export type InputOf<Name extends OperationName> = Parameters<Operations[Name]['run']>[1]
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>

/** The operation of this name. */
export function getOperation<Name extends OperationName>(
  name: Name,
): Operation<InputOf<Name>, OutputOf<Name>> {
  const operations: { [N in OperationName]: Operation<InputOf<N>, OutputOf<N>> } = OPERATIONS
  return operations[name]
}

/** The operation that a name from outside means, its types forgotten. */
export function findOperation(name: string): Operation<unknown, unknown> | undefined {
  return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name as OperationName] : undefined
}
