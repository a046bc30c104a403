import type { Command } from '@commander-js/extra-typings'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { type Config, NEW_SECRET_KEY, UsageError } from '../config/config'
import { secretKey } from '../config/parsers'
import { ownUid } from '../control/caller'
import { SatchelError } from '../domain/value/error'
import type { Resealed } from '../host/reseal'
import { because } from '../net/system-error'
import { type Cli, example, findFolder, tell, withDatabase, withFolder } from './command'
import { counted, print } from './output'

/** `satchel key rotate|reseal` (design.md §2, §4, promises.md 16). */
export function addKeyCommands(program: Command, cli: Cli): void {
  const key = program
    .command('key')
    .description('the keys that sign tokens, and the key that seals secrets')

  withDatabase(key.command('rotate'), 'satchel key rotate')
    .description('sign new tokens with a new key; the old ones stay valid until they expire')
    .action((options) =>
      tell(
        cli,
        'key.rotate',
        options,
        ({ keyId }) => `New tokens are signed with the key ${keyId}`,
      ),
    )

  withFolder(key.command('reseal'))
    .description('seal the secrets of all databases under a new SATCHEL_SECRET_KEY')
    .option('--old-key-file <file>', 'the key so far, where it is not in SATCHEL_SECRET_KEY')
    .option('--new-key-file <file>', `the new key, where it is not in ${NEW_SECRET_KEY}`)
    .addHelpText(
      'after',
      `\nThe server must be stopped. A key is 32 random bytes in base64 (openssl rand -base64 32), in a file or in the environment; arguments could be read by every user of the machine. Databases with keys of their own, in files secret.key, are brought under the new key, and the files are removed. A command that was interrupted is completed by repeating it. Logins stay valid; codes that were just mailed do not. Backups made before need the old key: keep it as long as them.`,
    )
    .addHelpText(
      'after',
      example('satchel key reseal --new-key-file new.key --data /var/lib/satchel'),
    )
    .action(async ({ oldKeyFile, newKeyFile, ...options }) => {
      const config = findFolder(cli, options, { isDestructive: true })
      const from = oldKeyFile === undefined ? config.secretKey : readKey(oldKeyFile)
      const to = newKey(newKeyFile)
      if (from !== null && Buffer.from(from).equals(to)) {
        throw new UsageError(
          'The new key is the old one: make another with openssl rand -base64 32',
        )
      }
      const data = await reseal(cli, config, { from, to })
      await print(cli, options, { data }, describe(data))
    })
}

/** Throws `UsageError`. */
function newKey(file: string | undefined): Uint8Array {
  if (file !== undefined) return readKey(file)
  const text = process.env[NEW_SECRET_KEY]
  if (text !== undefined && text !== '') return parseKey(NEW_SECRET_KEY, text)
  throw new UsageError(
    `The new key is missing: put it into ${NEW_SECRET_KEY}, or into a file for --new-key-file`,
  )
}

function readKey(file: string): Uint8Array {
  try {
    return parseKey(file, readFileSync(file, 'utf8').trim())
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`The key file ${file} cannot be read${because(error)}`, { cause: error })
  }
}

/** `source` is the name of the file or the variable. The text is in no message. */
function parseKey(source: string, text: string): Uint8Array {
  try {
    return secretKey(text)
  } catch (error) {
    const expected = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${source} must hold ${expected}`)
  }
}

async function reseal(
  { clock }: Cli,
  config: Config,
  keys: { readonly from: Uint8Array | null; readonly to: Uint8Array },
): Promise<Resealed[]> {
  const [
    { resealFolder },
    { requireRestored, takeFolder },
    { nameHolder, readHolder, thisProcess },
  ] = await Promise.all([
    import('../host/reseal'),
    import('../host/folder'),
    import('../host/holder'),
  ])
  using folder = takeFolder(config)
  if (folder === undefined) {
    throw new SatchelError(
      'DATA_FOLDER_IN_USE',
      `The data folder ${config.data} is in use by ${nameHolder(readHolder(config.data))}: stop the server first, which would go on with the old key`,
    )
  }
  requireRestored(folder.path)
  folder.announce(thisProcess())
  return await resealFolder(folder.path, keys, { clock, uid: ownUid() })
}

function describe(data: readonly Resealed[]): string {
  const secrets = data.reduce((sum, each) => sum + each.secrets, 0)
  return [
    `Sealed ${counted(secrets, 'secret')} of ${counted(data.length, 'database')} under the new key`,
    'Set SATCHEL_SECRET_KEY to it before the server starts, and keep a copy elsewhere: without it the secrets are lost',
  ].join('\n')
}
