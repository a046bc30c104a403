/** True for an address by http or https. */
export function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:'
}

/**
 * The http(s) address without a user name, a password and a fragment; undefined for any other text.
 */
export function parseWebAddress(text: string): URL | undefined {
  const url = URL.parse(text)
  if (url === null || !isWeb(url)) return undefined
  return `${url.username}${url.password}${url.hash}` === '' ? url : undefined
}

/** True for a text of at most 2,048 characters that `parseWebAddress` reads. */
export function isWebAddress(text: string): boolean {
  return text.length <= MAX_LENGTH && parseWebAddress(text) !== undefined
}

/**
 * The address of a server, without a slash at its end; undefined for one with a query, or for none.
 */
export function serverAddressOf(text: string): string | undefined {
  const url = parseWebAddress(text)
  if (url === undefined || url.search !== '') return undefined
  let end = url.href.length
  while (url.href[end - 1] === '/') end--
  return url.href.slice(0, end)
}

/** True for a host name that means this machine wherever it is looked up. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  )
}

const MAX_LENGTH = 2048
