import { createPublicKey, sign, type KeyObject } from 'node:crypto'

/**
 * A request for a certificate of these names, signed with an EC key (RFC 2986): DER. The subject is empty,
 * because certificates name their hosts as alternative names only.
 */
export function certificateRequest(names: readonly string[], key: KeyObject): Buffer {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const alternativeNames = sequence(
    ...names.map((name) => tagged(DNS_NAME, Buffer.from(name, 'ascii'))),
  )
  const extensions = sequence(sequence(SUBJECT_ALT_NAME, octets(alternativeNames)))
  const info = sequence(
    VERSION_1,
    sequence(),
    publicKey,
    tagged(ATTRIBUTES, sequence(EXTENSION_REQUEST, tagged(SET, extensions))),
  )
  const signature = sign('sha256', info, { key, dsaEncoding: 'der' })
  return sequence(info, sequence(ECDSA_WITH_SHA256), bits(signature))
}

const SEQUENCE = 0x30
const SET = 0x31
const OCTETS = 0x04
const BITS = 0x03
/** [0] of the certification request: its attributes. */
const ATTRIBUTES = 0xa0
/** [2] of a general name. */
const DNS_NAME = 0x82

const VERSION_1 = Buffer.from([0x02, 0x01, 0x00])
/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
/** 1.2.840.113549.1.9.14 */
const EXTENSION_REQUEST = Buffer.from('06092a864886f70d01090e', 'hex')
/** 2.5.29.17 */
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(SEQUENCE, Buffer.concat(parts))
}

function octets(content: Buffer): Buffer {
  return tagged(OCTETS, content)
}

function bits(content: Buffer): Buffer {
  const noUnusedBits = Buffer.from([0])
  return tagged(BITS, Buffer.concat([noUnusedBits, content]))
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content])
}

/** Up to 127 in one byte, else the number of the bytes of the length before them. */
function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const hex = length.toString(16)
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}
