import { randomBytes } from 'node:crypto'
import { type AuthorityOptions, createAuthority } from '../../src/auth/authority'
import { createInvitations, type InvitationPage } from '../../src/auth/invitation/invitations'
import { type Actor, findUser } from '../../src/domain/access/actor'
import type { MailVariables } from '../../src/domain/store/mailer'
import { listObjects } from '../../src/domain/object/list'
import { removeObject } from '../../src/domain/object/remove'
import { upsertObjects } from '../../src/domain/object/upsert'
import { addOrigin } from '../../src/domain/database/origin'
import { parseStores } from '../../src/domain/value/schema'
import { SCOPES } from '../../src/domain/value/scope'
import { changePolicy, type Policy } from '../../src/domain/user/policy'
import type { ServerMail } from '../../src/mail/mailer'
import { putOne, user } from '../contract/user-fixture'
import { setupMailer } from '../mail/setup'
import type { UserFields } from '../../src/domain/store/users'
import { rowRulesWith, ROW_RULES } from '../../src/domain/rows/row-rules'
import { declareTables } from '../../src/domain/object/tables'

export const ALICE = 'alice@example.com'
export const BOB = 'bob@example.com'
export const REALM = 'rlmGroceries'
export const PUBLIC_URL = 'https://db.example.com/main'

export type Row = Readonly<Record<string, unknown>>

/** An invitation for Bob. */
export const INVITATION = { id: 'mmbBob', realmId: REALM, email: BOB, invite: true }

/** The page of an invitation, as its link shows it. */
export const INVITATION_PAGE: InvitationPage = {
  state: 'open',
  isAnothers: false,
  email: BOB,
  realmName: 'Groceries',
  inviterName: 'Alice',
  inviterEmail: ALICE,
  originName: 'Todo',
  application: 'https://app.example.com/',
}

export interface InvitationOptions extends AuthorityOptions {
  readonly mail?: Partial<ServerMail>
  readonly address?: string | null
}

/** The user with this id, with a token for `/my`. */
export function personOf(id: string, more: Partial<Actor> = {}): Actor {
  return { subject: id, email: id, name: null, scopes: new Set(['ACCESS_DB']), ...more }
}

/** A database in which Alice shares a realm, Groceries, with an item; its mails end up in a mailbox. */
export async function setupInvitations(options: InvitationOptions = {}) {
  const { mail = { isPrinting: () => true }, address = PUBLIC_URL, ...rest } = options
  const base = await setupMailer(mail)
  const { database, clock, mailer, printed } = base
  const secretKey = new Uint8Array(randomBytes(32))
  const authority = await createAuthority(database, clock, secretKey, { mailer, ...rest })
  const invitations = createInvitations({
    database,
    clock: authority.clock,
    mailer,
    admit: authority.admit,
    addressOf: () => address,
  })
  let read = 0

  async function put(
    actor: Actor,
    table: string,
    rows: Row | readonly Row[],
    origin: string | null = null,
  ): Promise<Row[]> {
    const objects: readonly unknown[] = structuredClone(Array.isArray(rows) ? rows : [rows])
    const texts = await upsertObjects(database, {
      actor,
      view: actor.scopes.has('GLOBAL_WRITE') ? 'all' : 'my',
      table,
      objects,
      isArray: true,
      now: clock.now(),
      rulesByTable: rowRulesWith((tx, facts) => invitations.send(tx, facts, origin)),
    })
    return texts.map((text) => JSON.parse(text) as Row)
  }

  async function list(actor: Actor, table: string): Promise<Row[]> {
    const { texts } = await listObjects(database, actor, 'my', table, { filters: [] })
    return JSON.parse(`[${texts.join(',')}]`) as Row[]
  }

  /** The mails that have come since this was last asked. */
  async function mails() {
    await mailer.idle()
    const fresh = printed.slice(read)
    read = printed.length
    return fresh.map(({ letter, subject, text, html }) => {
      const variables = letter.variables as MailVariables['invite']
      return { to: letter.to, kind: letter.kind, subject, text, html, ...variables }
    })
  }

  /** The secret in the link of the next and only mail. */
  async function secret(): Promise<string> {
    const [mail, ...others] = await mails()
    if (mail === undefined || others.length > 0) throw new Error(`not one mail: ${others.length}`)
    return new URL(mail.link).searchParams.get('token') ?? ''
  }

  const alice = personOf(ALICE, { name: 'Alice' })
  await database.write((tx) => declareTables(tx, parseStores({ items: '@id, title' }), clock.now()))
  await authority.admit({ id: ALICE, email: ALICE, name: 'Alice' })
  await put(alice, 'realms', { realmId: REALM, name: 'Groceries' })
  await put(alice, 'items', { id: 'itmBread', title: 'Bread', realmId: REALM })
  return {
    ...base,
    authority,
    invitations,
    alice,
    admin: personOf('admin', { email: null, scopes: new Set(SCOPES) }),
    put,
    list,
    mails,
    secret,
    /** Alice's invitation for Bob, and the secret of its link. */
    async invite(changes: Row = {}, origin: string | null = null): Promise<string> {
      await put(alice, 'members', { ...INVITATION, ...changes }, origin)
      return await secret()
    },
    remove: (actor: Actor, table: string, key: string) =>
      removeObject(database, {
        actor,
        view: 'my',
        table,
        key,
        now: clock.now(),
        rulesByTable: ROW_RULES,
      }),
    /** The row of Bob's invitation, as Alice sees it. */
    async row(): Promise<Row | undefined> {
      return (await list(alice, 'members')).find(({ id }) => id === INVITATION.id)
    },
    titles: async (id: string) => (await list(personOf(id), 'items')).map(({ title }) => title),
    findUser: (id: string) => database.read((tx) => findUser(tx, id)),
    addUser: (id: string, changes: Partial<UserFields> = {}) =>
      putOne(database, user(id, { created: clock.now(), updated: clock.now(), ...changes })),
    setPolicy: (changes: Partial<Policy>) => database.write((tx) => changePolicy(tx, changes)),
    addOrigin: (origin: string) => database.write((tx) => addOrigin(tx, clock, origin)),
    async [Symbol.asyncDispose]() {
      await authority[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}
