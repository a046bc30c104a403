import { X509Certificate } from 'node:crypto'

/** The certificate of a server, for administrators. */
export interface CertificateStatus {
  readonly names: readonly string[]
  /** ms since the epoch; null before the first certificate. */
  readonly expiresAt: number | null
  /** Why the latest attempts to get the next one have failed; null after one that has not, and where none is got. */
  readonly failure: CertificateFailure | null
}

export interface CertificateFailure {
  /** ms since the epoch. */
  readonly at: number
  /** How often in a row. */
  readonly attempts: number
  readonly reason: string
}

/** The status of a certificate that was given; `pem` is its chain. */
export function statusOfCertificate(pem: string): CertificateStatus {
  const certificate = parseCertificate(pem)
  return {
    names: certificate === undefined ? [] : namesOf(certificate),
    expiresAt: certificate?.validToDate.getTime() ?? null,
    failure: null,
  }
}

/** The first certificate of a text (PEM); undefined without one. */
export function parseCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text.slice(text.indexOf('-----BEGIN CERTIFICATE')))
  } catch {
    return undefined
  }
}

/** `DNS:db.example.com, IP Address:192.0.2.1` as the names in it. */
function namesOf({ subjectAltName }: X509Certificate): string[] {
  return (subjectAltName ?? '')
    .split(', ')
    .map((name) => name.slice(name.indexOf(':') + 1))
    .filter((name) => name !== '')
}
