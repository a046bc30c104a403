/** The properties that errors of the system have. */
interface SystemError extends Error {
  readonly code?: unknown
  readonly path?: string
  readonly hostname?: string
  readonly address?: string
  readonly port?: number
}

/** What errors of the system mean to a person, by their code. */
const SENTENCES: Readonly<Record<string, (error: SystemError) => string>> = {
  ENOENT: ({ path }) => `There is no file or folder ${path ?? 'of this name'}`,
  ENOTDIR: ({ path }) => `A part of the path ${path ?? ''} is a file, not a folder`,
  EISDIR: ({ path }) => `${path ?? 'The path'} is a folder: name a file`,
  EACCES: ({ path }) =>
    `This user may not use ${path ?? 'the file'}: check its owner and permissions`,
  EPERM: ({ path }) =>
    `This user may not change ${path ?? 'the file'}: check its owner and permissions`,
  EROFS: ({ path }) => `${path ?? 'The file'} is on a file system that cannot be written`,
  ENOSPC: () => 'The disk is full: free some space and try again',
  EDQUOT: () => 'The quota of this user on the disk is used up: free some space and try again',
  EMFILE: () => 'Too many files are open: raise the limit with ulimit -n',
  ENOTFOUND: ({ hostname }) =>
    `The host ${hostname ?? 'of the address'} is not known: check its name and the network`,
  EAI_AGAIN: ({ hostname }) =>
    `The name of the host ${hostname ?? ''} could not be looked up: check the network`,
  ECONNREFUSED: ({ address, port }) =>
    `Nothing listens at ${address ?? 'the address'}${port === undefined ? '' : ` on port ${port}`}: check the address, and whether the server runs`,
  ECONNRESET: () => 'The other side closed the connection: try again',
  ETIMEDOUT: ({ address }) => `${address ?? 'The other side'} did not answer in time`,
}

/** A sentence for an error of the system, such as ENOENT; undefined for any other error. */
export function systemSentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as SystemError
  const isKnown = typeof code === 'string' && Object.hasOwn(SENTENCES, code)
  return isKnown ? SENTENCES[code]?.(error) : wrappedSentence(error)
}

/** Libraries put codes of their own in place of those of the system, which are left in the message. */
function wrappedSentence({ message }: Error): string | undefined {
  const [, code = '', target] = /^(?:getaddrinfo|connect) (E\w+)(?: (\S+))?/.exec(message) ?? []
  if (!Object.hasOwn(SENTENCES, code)) return undefined
  const error = new Error(message)
  return SENTENCES[code]?.(
    target ? Object.assign(error, { hostname: target, address: target }) : error,
  )
}
