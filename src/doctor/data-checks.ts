import { DAY } from '../domain/value/time'
import { type Check, MIB, error, quote, span, warning } from './finding'

const BACKUP_EVERY_MS = 7 * DAY

/** The databases and their backups. */
export const DATA_CHECKS: Readonly<Record<string, Check>> = {
  'backup age': {
    looksAt: 'the time of the last backup',
    find({ backups: { last, target }, settings: { memory, development }, folder, now }) {
      if (memory || development || now - (last ?? folder.since) < BACKUP_EVERY_MS) return null
      const age = last === null ? 'ever' : `for ${span(now - last)}`
      return warning(
        `No backup was made ${age}`,
        `satchel backup ${quote(target ?? '/mnt/backups')} --data ${quote(folder.path)}`,
      )
    },
  },
  'backup schedule': {
    looksAt: 'the latest scheduled backup',
    find: ({ backups: { failure, target }, folder }) =>
      failure === null
        ? null
        : error(
            `The latest scheduled backup failed: ${failure}`,
            `satchel backup ${quote(target ?? '/mnt/backups')} --data ${quote(folder.path)}`,
          ),
  },
  'newest backup': {
    looksAt: 'the newest backup in the target, which is read again',
    find({ backups: { newest, target, refusal }, folder }) {
      // A folder that the server may not enter is the finding of the next check.
      if (newest === null || newest.fault === null || refusal !== null) return null
      const name = newest.name === null ? '' : ` ${newest.name}`
      return error(
        `The newest backup${name} in ${target} cannot be restored: ${newest.fault}`,
        `satchel backup ${quote(target ?? '')} --data ${quote(folder.path)}`,
      )
    },
  },
  'backup target': {
    looksAt: 'the folder of scheduled backups, which the server must be allowed to write',
    find({ backups: { target, refusal }, folder: { uid, gid } }) {
      if (target === null || refusal === null) return null
      return refusal === 'file system'
        ? error(
            `The server may not write backups to ${target}, because its unit or the file system is read-only there`,
            `ReadWritePaths=${target} in the unit (systemctl edit satchel)`,
          )
        : error(
            `The server may not write backups to ${target}, which belongs to another user`,
            `install -d -m 700 ${quote(target)} && chown -R ${uid}:${gid} ${quote(target)}`,
          )
    },
  },
  databases: {
    looksAt: 'whether each database can be opened',
    find({ databases }) {
      const [first, ...others] = databases.filter(({ fault }) => fault !== null)
      if (first === undefined) return null
      const more = others.length === 0 ? '' : ` (so are ${others.length} more)`
      return error(
        `The database ${first.name} is not served${more}: ${first.fault}`,
        `satchel restore /mnt/backups/<backup> --db ${first.name} --as ${first.name}-restored`,
      )
    },
  },
  damage: {
    looksAt: 'answers about damaged data since the start',
    find: ({ server }) =>
      server === null || server.signs.damagedAnswers === 0
        ? null
        : error(
            `Requests met damaged data since the start (${server.signs.damagedAnswers})`,
            'satchel verify --db <name> and satchel blob verify --db <name>',
          ),
  },
  jobs: {
    looksAt: 'jobs that have stopped',
    find({ databases }) {
      const stopped = databases.find(({ stoppedJobs }) => (stoppedJobs ?? 0) > 0)
      return stopped === undefined
        ? null
        : warning(
            `A job of the database ${stopped.name} has stopped`,
            `satchel job list --db ${stopped.name}`,
          )
    },
  },
  leftovers: {
    looksAt: 'copies that upgrades, removals and restores have left',
    find({ folder: { path, leftovers } }) {
      if (leftovers.length === 0) return null
      const mebibytes = Math.ceil(leftovers.reduce((sum, { bytes }) => sum + bytes, 0) / MIB)
      const paths = leftovers.map((leftover) => quote(`${path}/${leftover.path}`)).join(' ')
      return warning(
        `Old copies take ${mebibytes} MiB, and hold what was erased since: ${leftovers.length} in ${path}`,
        `rm -r ${paths}`,
      )
    },
  },
}
