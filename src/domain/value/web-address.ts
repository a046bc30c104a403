/** True for an http(s) address that holds no user name, no password and no fragment. */
export function isWebAddress(text: string): boolean {
  const url = text.length <= MAX_LENGTH ? URL.parse(text) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return url !== null && isWeb && `${url.username}${url.password}${url.hash}` === ''
}

const MAX_LENGTH = 2048
