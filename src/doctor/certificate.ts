import { createPrivateKey, type X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseCertificate, statusOfCertificate, type CertificateStatus } from '../net/certificate'
import { isIPv4, isIPv6 } from '../net/networks'
import { because } from '../net/system-error'
import type { CertificateFacts } from './facts'

/** The settings of certificates. */
export interface CertificateSettings {
  readonly tlsCert: string | null
  readonly tlsKey: string | null
  readonly acme: readonly string[] | null
  readonly publicUrl: string | null
}

/**
 * Looks at the certificate in the files of the settings. `managed` is the state of one that the server gets by itself.
 * Null without TLS, and for a managed one of which nothing is known.
 */
export function lookAtCertificate(
  { tlsCert, tlsKey, acme, publicUrl }: CertificateSettings,
  managed: CertificateStatus | null,
): CertificateFacts | null {
  if (acme !== null) {
    return managed && { ...managed, fitsKey: null, fitsAddress: true, fault: null, isManaged: true }
  }
  if (tlsCert === null || tlsKey === null) return null
  try {
    const pem = readFileSync(tlsCert, 'utf8')
    const certificate = parseCertificate(pem)
    if (certificate === undefined) return faulty(`${tlsCert} holds no certificate (PEM)`)
    const host = publicUrl === null ? null : new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1')
    return {
      ...statusOfCertificate(pem),
      fitsKey: certificate.checkPrivateKey(createPrivateKey(readFileSync(tlsKey, 'utf8'))),
      fitsAddress: host === null || isFor(certificate, host),
      fault: null,
      isManaged: false,
    }
  } catch (error) {
    return faulty(`The certificate ${tlsCert} or its key ${tlsKey} cannot be read${because(error)}`)
  }
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const isAddress = isIPv4(host) || isIPv6(host)
  return (isAddress ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined
}

function faulty(fault: string): CertificateFacts {
  const unknown = { names: [], expiresAt: null, failure: null, fitsKey: null }
  return { ...unknown, fitsAddress: true, fault, isManaged: false }
}
