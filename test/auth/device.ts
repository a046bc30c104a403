import { generateKeyPairSync, sign } from 'node:crypto'

/** A device that stays logged in: it has a key and signs each refresh with it (protocol.md §2.4). */
export function createDevice() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    /** Its refresh request at `time_stamp`, ms. */
    refreshRequest: (refresh_token: string, time_stamp: number) => {
      const signature = sign('sha256', Buffer.from(`${refresh_token}${time_stamp}`), privateKey)
      return {
        grant_type: 'refresh_token',
        refresh_token,
        scopes: ['ACCESS_DB'],
        time_stamp,
        signing_algorithm: 'RSASSA-PKCS1-v1_5',
        signature: signature.toString('base64'),
      }
    },
  }
}
