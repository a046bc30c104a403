import { readFileSync } from 'node:fs'
import { because } from '../net/system-error'
import { UsageError } from './config'

/**
 * The bearer token in a file that the setting `flag` names. Throws `UsageError` unless it has at least 16 characters,
 * so that it is no name.
 */
export function readTokenFile(flag: string, path: string): string {
  let token = ''
  try {
    token = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`${flag} ${path} cannot be read${because(error)}`, { cause: error })
  }
  if (/^[\w.~+/-]{16,}=*$/.test(token)) return token
  throw new UsageError(
    `${flag} ${path} must hold a token: at least 16 letters, digits and - . _ ~ + /`,
  )
}
