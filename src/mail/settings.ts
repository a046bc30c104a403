import type { ReadTx, WriteTx } from '../domain/store/store'
import type { Awaitable } from '../domain/store/records'

/** The mail settings of one database, where they differ from the server's. */
export interface MailSettings {
  /** `Name <address>`, or null for the server's. */
  readonly sender: string | null
  /** `smtp://…`, `smtps://…` or the https address of a web hook, sealed; null for the server's. */
  readonly sealedAddress: string | null
}

/** The current settings, remembered because every login needs them. */
export function findMailSettings(tx: ReadTx): Awaitable<MailSettings> {
  return tx.remember('mail settings', async () => {
    const setting = await tx.settings.find(SETTING)
    return { ...DEFAULT, ...setting?.value }
  })
}

export async function putMailSettings(tx: WriteTx, settings: MailSettings): Promise<void> {
  await tx.settings.put({ id: SETTING, value: { ...settings } })
}

const SETTING = 'mail'
const DEFAULT: MailSettings = { sender: null, sealedAddress: null }
