import type { Command } from '@commander-js/extra-typings'
import { type Cli, example, inSession, withDatabase } from './command'
import { print } from './output'

/** `satchel key rotate` (design.md §4, promises.md 16). */
export function addKeyCommands(program: Command, cli: Cli): void {
  const key = program.command('key').description('the keys that sign the tokens of a database')

  withDatabase(key.command('rotate'))
    .description('sign new tokens with a new key; the old ones stay valid until they expire')
    .addHelpText('after', example('satchel key rotate'))
    .action(async (options) => {
      const rotated = await inSession(cli, options, (session) =>
        session.run('key.rotate', { database: options.db }),
      )
      await print(cli, options, rotated, `New tokens are signed with the key ${rotated.keyId}`)
    })
}
