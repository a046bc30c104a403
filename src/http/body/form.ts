import { SatchelError } from '../../domain/value/error'
import type { Door } from '../door'

/**
 * The fields of a form that a browser posts, those of `names` alone. Throws `UNSUPPORTED_MEDIA_TYPE`
 * with the `sentence` that says what is expected, and what `Bodies` throws.
 */
export async function readForm(
  door: Door,
  request: Request,
  names: readonly string[],
  sentence: string,
): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(type)) {
    throw new SatchelError('UNSUPPORTED_MEDIA_TYPE', sentence)
  }
  const form = new URLSearchParams(await door.bodies.text(request, LONGEST_FORM))
  return new URLSearchParams([...form].filter(([name]) => names.includes(name)))
}

const LONGEST_FORM = 16 * 1024
