import { DAY, HOUR, MINUTE } from '../domain/value/time'
import type { CertificateFacts, Facts } from './facts'

/** Something that is wrong. */
export interface Finding {
  readonly level: 'warning' | 'error'
  /** A sentence about it. */
  readonly problem: string
  /** The command, or the line of a settings file, that mends it. */
  readonly mend: string
}

/** A check with the part of the system that it looks at. */
export interface Check {
  readonly looksAt: string
  /** Null when nothing is wrong. */
  find(facts: Facts): Finding | null
}

const MIB = 1024 ** 2
/** Less free disk than this is an error, and ten times as much a warning. */
const LEAST_FREE_BYTES = 200 * MIB
/** Fewer free files are an error, ten times as many a warning. */
const MIN_FREE_FILES = 1_000
/** A limit of open files below this is too low for many devices. */
const MIN_DESCRIPTORS = 4_096
/** A part of the limit that should not be in use. */
const MAX_DESCRIPTOR_SHARE = 0.8
/** A certificate is to be renewed before. */
const RENEW_BEFORE_MS = 14 * DAY
const BACKUP_EVERY_MS = 7 * DAY

/** All checks by name, in the order of their findings. */
export const CHECKS: Readonly<Record<string, Check>> = {
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
  certificate: {
    looksAt: 'the end of the certificate, its key, and the names in it',
    find: ({ certificate, settings: { publicUrl }, now }) =>
      certificate === null ? null : findInCertificate(certificate, publicUrl, now),
  },
  port: {
    looksAt: 'the port of a server that does not run',
    find: ({ port, settings }) =>
      port === null
        ? null
        : error(
            `Port ${settings.port} of ${settings.host} is in use by ${port.holder ?? 'another program'}, so the server cannot start`,
            'stop that program, or choose another --port',
          ),
  },
  mails: {
    looksAt: 'the settings of mails',
    find: ({ settings: { sendsMails, development } }) =>
      sendsMails || development
        ? null
        : warning(
            'Mails are not sent, so nobody gets a code to log in with, unless each database has a mail server of its own',
            'SATCHEL_SMTP_URL=smtps://user:password@host in the environment of the server',
          ),
  },
  'mail server': {
    looksAt: 'the mail server, with --online',
    find: ({ mailFailure }) =>
      mailFailure === null
        ? null
        : error(
            `The mail server takes no mails: ${mailFailure}`,
            'SATCHEL_SMTP_URL in the environment of the server; satchel mail test shows whether it works',
          ),
  },
  'public address': {
    looksAt: 'the public address, TLS and proxies in the settings',
    find({ settings: { publicUrl, hasTls, isProxyTrusted, host } }) {
      if (publicUrl === null) return null
      const { protocol, hostname } = new URL(publicUrl)
      if (protocol === 'http:' && !isLocal(hostname)) {
        return error(
          `The public address ${publicUrl} is not encrypted: browsers log in on https only`,
          `--public-url https://${hostname}`,
        )
      }
      if (protocol !== 'https:' || hasTls || isProxyTrusted) return null
      return warning(
        `The public address ${publicUrl} is https, but the server has neither a certificate nor a trusted proxy: all callers behind the proxy share one rate limit`,
        isLocal(host) ? '--trust-proxy 127.0.0.1/32' : '--tls-cert and --tls-key, or --acme',
      )
    },
  },
  'rate limits': {
    looksAt: 'the rate limits of a public server',
    find: ({ settings: { areLimitsOff, development, publicUrl } }) =>
      areLimitsOff && !development && publicUrl !== null
        ? warning(
            'Rate limits are off on a public server: codes and passwords can be guessed without end',
            '--rate-limits on',
          )
        : null,
  },
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
    find({ backups: { newest, target }, folder }) {
      if (newest === null || newest.fault === null) return null
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
            `install -d -m 700 -o ${uid} -g ${gid} ${quote(target)}`,
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
  proxy: {
    looksAt: 'the headers of requests since the start',
    find({ server, settings: { isProxyTrusted } }) {
      if (server === null) return null
      const { unknownProxy, silentProxy, forwarded, strippedUpgrades } = server.signs
      if (strippedUpgrades > 0) {
        return error(
          `A proxy strips the header Upgrade, so that devices get no changes (${strippedUpgrades} requests)`,
          'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; (nginx)',
        )
      }
      if (unknownProxy !== null) {
        return warning(
          `Requests from ${unknownProxy} have X-Forwarded-For, which is ignored: if it is a proxy, all its callers share one rate limit`,
          `--trust-proxy ${isProxyTrusted ? '<networks>,' : ''}${unknownProxy}/${unknownProxy.includes(':') ? 128 : 32}`,
        )
      }
      return silentProxy === null || forwarded > 0
        ? null
        : warning(
            `Requests from the trusted proxy ${silentProxy} lack X-Forwarded-For: all its callers share one rate limit`,
            'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; (nginx)',
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

/** The findings of all checks, with their names. */
export function examine(facts: Facts): (Finding & { readonly check: string })[] {
  return Object.entries(CHECKS).flatMap(([name, check]) => {
    const finding = check.find(facts)
    return finding === null ? [] : [{ check: name, ...finding }]
  })
}

function findInCertificate(
  { names, expiresAt, failure, fitsKey, fitsAddress, fault, isManaged }: CertificateFacts,
  publicUrl: string | null,
  now: number,
): Finding | null {
  const renew = isManaged
    ? 'systemctl restart satchel, after the cause in its log is mended'
    : 'renew it where it comes from, such as certbot renew'
  if (fault !== null) return error(fault, '--tls-cert and --tls-key')
  if (fitsKey === false) {
    return error(
      'The certificate and the private key do not belong together',
      '--tls-cert and --tls-key of one pair',
    )
  }
  if (expiresAt !== null && expiresAt <= now) {
    return error(`The certificate has expired ${span(now - expiresAt)} ago`, renew)
  }
  if (!fitsAddress) {
    return error(
      `The certificate is for ${names.join(', ') || 'no name'}, not for the public address ${publicUrl}`,
      `a certificate for ${new URL(publicUrl ?? '').hostname}, or --acme ${new URL(publicUrl ?? '').hostname}`,
    )
  }
  if (failure !== null) {
    return warning(`No new certificate was issued: ${failure.reason}`, renew)
  }
  return expiresAt !== null && expiresAt - now < RENEW_BEFORE_MS
    ? warning(`The certificate expires in ${span(expiresAt - now)}`, renew)
    : null
}

function below(
  value: number,
  least: number,
  make: (level: Finding['level']) => Finding,
): Finding | null {
  if (value >= 10 * least) return null
  return make(value < least ? 'error' : 'warning')
}

function error(problem: string, mend: string): Finding {
  return { level: 'error', problem, mend }
}

function warning(problem: string, mend: string): Finding {
  return { level: 'warning', problem, mend }
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || host.startsWith('127.')
}

/** `3 days`, `1 hour`. */
function span(ms: number): string {
  const [count, unit] =
    ms >= DAY ? [ms / DAY, 'day'] : ms >= HOUR ? [ms / HOUR, 'hour'] : [ms / MINUTE, 'minute']
  const whole = Math.floor(count)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}

/** A word of a shell command. */
function quote(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
