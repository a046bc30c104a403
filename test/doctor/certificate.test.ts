import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lookAtCertificate } from '../../src/doctor/certificate'
import { temporaryFolder } from '../setup'

const canMakeCertificates = Bun.which('openssl') !== null

/** Makes `<name>.crt` and `<name>.key` for `a.example.com` and 192.0.2.1. */
function makeCertificate(folder: string, name: string): void {
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  const names = '-addext subjectAltName=DNS:a.example.com,IP:192.0.2.1'
  const files = `-days 2 -subj /CN=a -keyout ${name}.key -out ${name}.crt`
  const command = ['openssl', 'req', '-x509', ...`${key} ${names} ${files}`.split(' ')]
  expect(Bun.spawnSync(command, { cwd: folder, stderr: 'ignore' }).exitCode).toBe(0)
}

function lookAt(folder: string, cert: string, key: string, publicUrl: string | null) {
  const paths = { tlsCert: join(folder, cert), tlsKey: join(folder, key) }
  return lookAtCertificate({ ...paths, acme: null, publicUrl }, null)
}

describe.if(canMakeCertificates)('a certificate in files', () => {
  test('fits its key and the names in it', () => {
    using folder = temporaryFolder()
    makeCertificate(folder.path, 'one')
    makeCertificate(folder.path, 'two')
    const of = (publicUrl: string | null, key = 'one.key') =>
      lookAt(folder.path, 'one.crt', key, publicUrl)
    expect(of('https://a.example.com')).toEqual({
      names: ['a.example.com', '192.0.2.1'],
      expiresAt: expect.any(Number),
      failure: null,
      fitsKey: true,
      fitsAddress: true,
      fault: null,
      isManaged: false,
    })
    expect(of('https://192.0.2.1')).toMatchObject({ fitsAddress: true })
    expect(of(null)).toMatchObject({ fitsAddress: true })
    expect(of('https://b.example.com')).toMatchObject({ fitsKey: true, fitsAddress: false })
    expect(of('https://192.0.2.2')).toMatchObject({ fitsAddress: false })
    expect(of(null, 'two.key')).toMatchObject({ fitsKey: false })
  })
})

test('a certificate that cannot be read is a fault', () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'empty.crt'), '')
  const fault = (cert: string) => lookAt(folder.path, cert, 'none.key', null)?.fault
  expect(fault('empty.crt')).toContain('holds no certificate (PEM)')
  expect(fault('none.crt')).toContain('cannot be read: it does not exist')
})

test('one that the server gets by itself is known by its state only', () => {
  const settings = { tlsCert: null, tlsKey: null, acme: ['a.example.com'], publicUrl: null }
  const state = { names: ['a.example.com'], expiresAt: null, failure: null }
  expect(lookAtCertificate(settings, state)).toMatchObject({ ...state, isManaged: true })
  expect(lookAtCertificate(settings, null)).toBeNull()
  expect(lookAtCertificate({ ...settings, acme: null }, null)).toBeNull()
})
