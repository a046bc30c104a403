import process from 'node:process'
import { version } from '../../package.json'
import { viewFolder } from '../host/folder-view'
import { programName } from '../program'
import { onFolder } from './operation'

export const statusOperations = {
  /** The state of a server and of its folder. `program` are the words that run commands. Times in ms since the epoch, but for those of scheduled backups. */
  status: onFolder(
    { scopes: 'operator', effect: 'read', summary: 'Show the state of the server', input: {} },
    async (folder) => {
      const server = folder.serving()
      const surveyed = await folder.hosts.survey((tx, name) => ({
        name,
        ...tx.blobs.usage(null),
        failures: tx.jobs.list().map(({ failure }) => failure),
      }))
      const failures = surveyed.flatMap((each) => each.failures)
      const blobsOf = new Map(surveyed.map(({ name, blobs, bytes }) => [name, { blobs, bytes }]))
      const { databases, disk, lastBackup } = await viewFolder(folder.path)
      return {
        version,
        pid: process.pid,
        program: programName(),
        url: server?.url ?? null,
        since: server?.since ?? null,
        folder: folder.path,
        databases: databases.map((database) => ({
          ...database,
          url: folder.url(database.name),
          // Those of a database that is not open are not known.
          blobs: blobsOf.get(database.name)?.blobs ?? null,
          blobBytes: blobsOf.get(database.name)?.bytes ?? null,
        })),
        sockets: server?.sockets() ?? 0,
        jobs: {
          running: failures.filter((failure) => failure === null).length,
          stopped: failures.filter((failure) => failure !== null).length,
        },
        backups: { last: lastBackup, schedule: folder.backups.schedule },
        certificate: server?.certificate() ?? null,
        disk,
      }
    },
  ),
}
