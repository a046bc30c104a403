import { readdirSync, readFileSync } from 'node:fs'
import { shownSettings } from '../config/shown'
import { type OwnFacts, look } from '../doctor/look'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Serving } from '../host/serving'
import { flag } from './fields'
import { onFolder } from './operation'

export const doctorOperations = {
  /** The facts that the checks of `satchel doctor` are about. Progress is in bytes of a backup that is read again. */
  doctor: onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'Tell what the checks of the server look at',
      input: { online: flag },
    },
    async (folder, { online: isOnline }, { progress }) => {
      const server = folder.serving()
      if (server === null) throw new SatchelError('BUSY', 'The server is starting: repeat it soon')
      const facts = await look(
        { ...server.config, data: folder.path },
        await lookAtServer(folder, server),
        {
          now: folder.clock.now(),
          isOnline,
          progress: (bytes) => progress?.(bytes, null, 'Reading the newest backup'),
        },
      )
      return { facts, settings: shownSettings(server.config) }
    },
  ),
}

async function lookAtServer(folder: DataFolder, server: Serving): Promise<OwnFacts> {
  const { signs, unopened } = server
  const opened = await folder.hosts.survey((tx, name) => ({
    name,
    fault: null,
    latestTime: tx.latestTime(),
    stoppedJobs: tx.jobs.list().filter(({ failure }) => failure !== null).length,
  }))
  const faults = [...unopened].map(([name, fault]) => {
    return { name, fault, latestTime: null, stoppedJobs: null }
  })
  return {
    descriptors: countDescriptors(),
    signs,
    certificate: server.certificate(),
    databases: [...faults, ...opened],
    backupFailure: folder.backups.schedule?.failure?.reason ?? null,
  }
}

/** Null where the system does not tell. */
function countDescriptors() {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined
      ? null
      : { open: readdirSync('/proc/self/fd').length, limit: Number(limit) }
  } catch {
    return null
  }
}
