import { MINUTE } from '../domain/value/time'
import { type Check, type Finding, MIB, error, quote, span, warning } from './finding'

/** Less free disk than this is an error, and ten times as much a warning. */
const LEAST_FREE_BYTES = 200 * MIB
/** Fewer free files are an error, ten times as many a warning. */
const MIN_FREE_FILES = 1_000
/** A limit of open files below this is too low for many devices. */
const MIN_DESCRIPTORS = 4_096
/** A part of the limit that should not be in use. */
const MAX_DESCRIPTOR_SHARE = 0.8

/** The data folder and the machine below it. */
export const MACHINE_CHECKS: Readonly<Record<string, Check>> = {
  'folder owner': {
    looksAt: 'the user of the data folder and of the files in it',
    find({ folder: { path, uid, gid, foreign, isWritable } }) {
      if (!isWritable) return error(`The data folder ${path} cannot be written`, chown('.'))
      if (foreign.length === 0) return null
      const [first, ...others] = foreign
      const more = others.length === 0 ? '' : ` and ${others.length} more`
      return error(
        `${first}${more} in ${path} belong to another user than the folder: the server may fail to use them`,
        chown('.'),
      )

      function chown(below: string): string {
        return `chown -R ${uid}:${gid} ${quote(below === '.' ? path : below)}`
      }
    },
  },
  'folder mode': {
    looksAt: 'the permissions of the data folder',
    find: ({ folder: { path, mode } }) =>
      (mode & 0o077) === 0
        ? null
        : warning(
            `Other users of this machine may enter the data folder ${path}, which holds keys`,
            `chmod 700 ${quote(path)}`,
          ),
  },
  'file system': {
    looksAt: 'the kind of file system below the data folder',
    find: ({ folder: { path, network } }) =>
      network === null
        ? null
        : error(
            `The data folder ${path} is on ${network}: databases on a network file system are damaged sooner or later`,
            `satchel backup /mnt/backups --data ${quote(path)}, then satchel restore to a folder on a disk of this machine`,
          ),
  },
  disk: {
    looksAt: 'the free disk below the data folder',
    find: ({ folder: { path, freeBytes } }) =>
      below(freeBytes, LEAST_FREE_BYTES, (level) => ({
        level,
        problem: `The disk of the data folder ${path} has only ${Math.floor(freeBytes / MIB)} MiB left: when it is full, writes are refused`,
        mend: `du -xh --max-depth=2 ${quote(path)}`,
      })),
  },
  files: {
    looksAt: 'the number of files that the file system can still have',
    find: ({ folder: { path, freeFiles } }) =>
      freeFiles === null
        ? null
        : below(freeFiles, MIN_FREE_FILES, (level) => ({
            level,
            problem: `The file system of ${path} can have only ${freeFiles} more files: blobs are files`,
            mend: `du -x --inodes --max-depth=2 ${quote(path)}`,
          })),
  },
  descriptors: {
    looksAt: 'the limit of open files and connections of the server',
    find({ server }) {
      if (!server?.descriptors) return null
      const { open, limit } = server.descriptors
      const mend = 'LimitNOFILE=65536 in the unit (systemctl edit satchel), or ulimit -n 65536'
      if (open > limit * MAX_DESCRIPTOR_SHARE) {
        return error(`${open} of ${limit} files and connections are open`, mend)
      }
      return limit >= MIN_DESCRIPTORS
        ? null
        : warning(`The server may open only ${limit} files and connections`, mend)
    },
  },
  clock: {
    looksAt: 'the clock of the machine and the newest time in the databases',
    find({ now, databases }) {
      const late = databases.toSorted((a, b) => (b.latestTime ?? 0) - (a.latestTime ?? 0))[0]
      const behind = (late?.latestTime ?? 0) - now
      return behind < MINUTE
        ? null
        : error(
            `The clock is ${span(behind)} behind the newest time in the database ${late?.name}: new logins last too long, or changes look old`,
            'timedatectl set-ntp true',
          )
    },
  },
}

function below(
  value: number,
  least: number,
  make: (level: Finding['level']) => Finding,
): Finding | null {
  if (value >= 10 * least) return null
  return make(value < least ? 'error' : 'warning')
}
