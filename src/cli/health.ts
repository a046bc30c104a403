import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { readHolder } from '../host/holder'
import { because } from '../net/system-error'
import { type Cli, Ending, example, findFolder, withFolder } from './command'
import { print } from './output'

/** `satchel health`: for a container or a script, which has no client of HTTP. */
export function addHealthCommand(program: Command, cli: Cli): void {
  withFolder(program.command('health'))
    .description('ask whether the server of the data folder answers requests')
    .addHelpText('after', '\nThe exit code is 0 when it answers, and 1 when it does not.')
    .addHelpText('after', example('satchel health --data /var/lib/satchel'))
    .action(async (options) => {
      const { data } = findFolder(cli, options)
      const fault = await findFault(data)
      const status = fault === undefined ? 'healthy' : 'unhealthy'
      await print(cli, options, { status, ...(fault && { reason: fault }) }, fault ?? status)
      if (fault !== undefined) throw new Ending(1)
    })
}

/** Why the server does not answer, or undefined. */
async function findFault(folder: string): Promise<string | undefined> {
  const holder = readHolder(folder)
  if (holder === undefined || holder.address === null) return `No server serves ${folder}`
  const { callHolder } = await import('../control/session')
  try {
    const { url, certificate } = await callHolder<OutputOf<'status'>>(holder, 'status', {}, {})
    // Before its first certificate a server does not listen.
    if (certificate?.expiresAt === null) return undefined
    // The certificate is for the public name, not for an address of this machine.
    const response = await fetch(`${url}/health`, { tls: { rejectUnauthorized: false } })
    return response.ok ? undefined : `${url}/health answers ${response.status}`
  } catch (error) {
    return `The server does not answer${because(error)}`
  }
}
