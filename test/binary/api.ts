import { expect } from 'bun:test'
import type { Ready } from './setup'

/** A caller of the database `main`. */
export interface Caller {
  /** The answer's body as JSON; fails unless the status is the expected one. */
  get<T>(path: string, status?: number): Promise<T>
  post<T>(path: string, body: unknown, status?: number): Promise<T>
}

/** Calls with an access token, or anonymously. */
export function callMain({ url }: Ready, accessToken?: string): Caller {
  async function call(method: string, path: string, status: number, body?: unknown) {
    const response = await fetch(`${url}/main${path}`, {
      method,
      headers: {
        ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    expect({ path, status: response.status, text }).toMatchObject({ path, status })
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  }
  return {
    get: async <T>(path: string, status = 200) => (await call('GET', path, status)) as T,
    post: async <T>(path: string, body: unknown, status = 200) =>
      (await call('POST', path, status, body)) as T,
  }
}
