import { createService } from '../auth/service'
import { createSteadyClock } from '../auth/steady-clock'
import type { Config } from '../config/config'
import { type CreationRule, requireCreator } from '../domain/database/creation'
import { newDatabaseName } from '../domain/value/database-name'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import { sendServerMail } from '../mail/mailer'
import type { Message } from '../mail/message'
import { ofPerson } from './caller'
import { createDatabase } from './databases'
import { recordInServer } from './record'

/**
 * Lets people who prove an address create databases at the address of the server, as
 * `--create-databases` says (protocol.md §9.3 `create`).
 */
export function createCreation(
  folder: DataFolder,
  config: Pick<Config, 'createDatabases' | 'maxDatabases' | 'publicUrl'>,
  isDevelopment: () => boolean,
) {
  const { hosts, clock, mail, testing } = folder
  const rule = () => config.createDatabases ?? (isDevelopment() ? ANYONE : OFF)
  const print = (message: Message) => {
    testing?.keepMail(message)
    mail.print(message)
  }
  return {
    service: createService({
      clock: createSteadyClock(clock),
      name: config.publicUrl === null ? 'Satchel' : new URL(config.publicUrl).host,
      requireCreator: (email) => requireCreator(rule(), email),
      send: (letter) => sendServerMail({ ...mail, print }, letter, clock.now()),
    }),

    /** Throws `NO_PUBLIC_ADDRESS` and `DB_LIMIT_REACHED`. */
    async create(email: string, address: string) {
      const name = newDatabaseName()
      const url = folder.addressOf(name)
      if (url === null) {
        throw new SatchelError(
          'NO_PUBLIC_ADDRESS',
          'The server does not know its public address: start it with --public-url',
        )
      }
      if ((await hosts.list()).length >= config.maxDatabases) {
        throw new SatchelError(
          'DB_LIMIT_REACHED',
          `This server has ${config.maxDatabases} databases, and its limit is maxDatabases: delete one, or ask its administrator to raise the limit`,
        )
      }
      const caller = ofPerson(email, address)
      const client = await recordInServer({ folder, operation: 'db.create', caller }, (record) =>
        createDatabase(folder, name, email, record),
      )
      return { url, ...client }
    },
  }
}

const ANYONE: CreationRule = { text: 'anyone', admits: () => true }
const OFF: CreationRule = { text: 'off', admits: () => false }
