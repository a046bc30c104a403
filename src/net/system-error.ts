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

/** Why a file or a host cannot be used, by the code of the error, with “it” for the file or host. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not change it',
  EROFS: 'its file system cannot be written',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user on the disk is used up',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: 'the network does not lead to it',
  ENETUNREACH: 'the network does not lead to it',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is of an unknown authority',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS at this port',
}

/** `: it does not exist` after “… cannot be read”; empty for an error that is not of the system. */
export function because(error: unknown): string {
  const code = error instanceof Error ? (error as SystemError).code : undefined
  return typeof code === 'string' && Object.hasOwn(REASONS, code) ? `: ${REASONS[code]}` : ''
}

/** A sentence for an error of the system, such as ENOENT; undefined for any other error. */
export function systemSentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as SystemError
  const isKnown = typeof code === 'string' && Object.hasOwn(SENTENCES, code)
  return isKnown ? SENTENCES[code]?.(error) : wrappedSentence(error)
}

const TLS_TROUBLES: readonly (readonly [message: RegExp, sentence: string])[] = [
  [
    /^self[- ]signed certificate|^unable to (?:verify|get) .*(?:certificate|issuer)/,
    'The certificate of the mail server is signed by itself or by an unknown authority',
  ],
  [/^certificate has expired/, 'The certificate of the mail server has expired'],
  [/^certificate is not yet valid/, 'The certificate of the mail server is not valid yet'],
  [/does not match certificate's altnames/, 'The certificate is for another name'],
  [
    /WRONG_VERSION_NUMBER|wrong version number/,
    'The mail server does not begin with TLS at this port: use smtp:// instead of smtps://',
  ],
]

/** Libraries put codes of their own in place of those of the system, which are left in the message. */
function wrappedSentence({ message }: Error): string | undefined {
  const [, trouble] = TLS_TROUBLES.find(([pattern]) => pattern.test(message)) ?? []
  if (trouble !== undefined) return trouble
  const [, code = '', target] = /^(?:getaddrinfo|connect) (E\w+)(?: (\S+))?/.exec(message) ?? []
  if (!Object.hasOwn(SENTENCES, code)) return undefined
  const error = new Error(message)
  return SENTENCES[code]?.(
    target ? Object.assign(error, { hostname: target, address: target }) : error,
  )
}
