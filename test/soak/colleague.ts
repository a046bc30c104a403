import { MINUTE } from '../../src/domain/value/time'
import { TOKEN_EXPIRED } from '../../src/sync/messages'
import type { Causality } from '../sync/model/causality'
import { createDevice, type Device, type LocalOperation } from '../sync/model/device'
import type { Office } from './office'

/** A person of the company with two devices, of which the phone is connected while it is used. */
export interface Colleague {
  readonly id: string
  readonly number: number
  readonly phone: Device
  readonly laptop: Device
  /** A token that is good for the next requests. */
  token(): Promise<string>
  /** Makes these operations on a device and syncs it until the server has acknowledged them. */
  write(device: Device, operations: readonly LocalOperation[]): Promise<void>
  /** Syncs a device, and connects the phone unless it is. */
  refresh(device: Device): Promise<void>
  /** The end of the work that was begun last: a person does one thing after the other. */
  busy: Promise<void>
}

/** Tokens are good for an hour. */
const TOKEN_RENEWED_MS = 30 * MINUTE

export function hire(
  { wire, client, now }: Pick<Office, 'wire' | 'client' | 'now'>,
  number: number,
): Colleague {
  const id = `colleague${number}@example.com`
  const person = { id, email: id }
  let known: { readonly token: string; readonly at: number } | undefined
  /** Over: closed, or its token has ended. */
  let socket = { isOver: true }

  async function token(): Promise<string> {
    if (known !== undefined && now() - known.at < TOKEN_RENEWED_MS) return known.token
    const { accessToken } = await wire.read<{ accessToken: string }>('POST', '/token', undefined, {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      scopes: ['ACCESS_DB'],
      claims: { sub: id, email: id, name: `Colleague ${number}` },
    })
    known = { token: accessToken, at: now() }
    return accessToken
  }

  const surroundings = {
    server: {
      now,
      async sync(_: object, body: string) {
        const type = 'application/tson'
        const { status, text } = await wire.send('POST', '/sync', {
          token: await token(),
          type,
          body,
        })
        if (status !== 200) throw new Error(`POST /sync: ${status} ${text.slice(0, 500)}`)
        return text
      },
      connect(_: object, clientId: string, receive: (text: string) => void) {
        const opened = { isOver: false }
        const end = () => (opened.isOver = true)
        const query = new URLSearchParams({ v: '3', clientId, token: known?.token ?? '' })
        socket = opened
        return wire.connect(query, (text) => (text === TOKEN_EXPIRED ? end() : receive(text)), end)
      },
    },
    causality: WITHOUT_CAUSES,
    begun: () => undefined,
  }
  const [phone, laptop] = ['phone', 'laptop'].map((name) =>
    createDevice(surroundings, person, `${name} ${number}`),
  ) as [Device, Device]

  async function refresh(device: Device): Promise<void> {
    if (device === phone && socket.isOver) device.disconnect()
    await device.process()
    await device.synchronize()
    // Earlier requests are not repeated.
    await device.calm()
    await token()
    if (device === phone) device.connect()
  }

  return {
    id,
    number,
    phone,
    laptop,
    token,
    refresh,
    async write(device, operations) {
      await device.transact([() => operations])
      await refresh(device)
      if (device.isPending) throw new Error(`A change of ${device.name} was not acknowledged`)
    },
    busy: Promise.resolve(),
  }
}

/** Cause and effect are tested elsewhere; here devices would remember all of a month. */
const WITHOUT_CAUSES: Causality = {
  begin: () => 0,
  tag: (_, path) => path,
  rewrite: () => undefined,
  with: () => 0n,
  without: () => 0n,
  executed: () => undefined,
  observe: () => 0n,
  complaints: [],
}
