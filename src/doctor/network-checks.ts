import { DAY } from '../domain/value/time'
import type { CertificateFacts } from './facts'
import { type Check, type Finding, error, span, warning } from './finding'

/** A certificate is to be renewed before. */
const RENEW_BEFORE_MS = 14 * DAY

/** The way to the server, and its mails. */
export const NETWORK_CHECKS: Readonly<Record<string, Check>> = {
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

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || host.startsWith('127.')
}
