import type { SatchelError } from '../domain/value/error'

// The accounts, and what happens where one is full (sync has the first four once more, as `sync bodies`, and so has the
// page for administrators, as `inputs of the page`):
//
// | account             | holds                                            | full                                |
// | ------------------- | ------------------------------------------------ | ----------------------------------- |
// | bodies that arrive  | bodies until they are parsed (`arrivals`)        | cuts slow ones, else refuses        |
// | files of bodies     | the parts of these that are on the disk          | cuts slow ones, else refuses        |
// | small bodies        | bodies up to 64 KiB until they are worked on     | refuses                             |
// | parsed bodies       | the values of large bodies (`body`)              | waits                               |
// | unsent answers      | answers until their readers have them (`unsent`) | cuts stalled ones, else refuses     |
// | uploads             | blobs on their way to the disk (`uploads`)       | cuts slow ones, else refuses        |
//
// Sockets have no account: messages that wait are bounded by `sync/outbox`, frames by `sync/frame-memory`, and
// answers to first syncs by their number (`http/routes/sync`).

/** The memory, or the disk, that one body, answer or upload has in an account. */
export interface Reservation {
  /** The reservations of an owner are counted together, too. */
  readonly owner: string
  /** Changed by the account alone. */
  bytes: number
}

/** A reservation that may be ended in favour of others. */
export interface Victim {
  readonly owner: string
  /** Ends the work, and releases the reservation at once. */
  cut(): void
}

/** How much an account has, and what happens when it is full. */
export interface AccountRules<R extends Reservation> {
  /** All bytes, and those of one owner. */
  readonly most: number
  readonly mostOfOwner?: number
  /** A reservation may have any size while no other is there, or no other of its owner. */
  readonly isFreeAlone?: true
  /** The reservations that are cut for this one, the slowest first. Absent: the new one is refused. */
  readonly victims?: (reservation: R) => Iterable<Victim>
  readonly refuse: () => SatchelError
}

/** The state of an account, for metrics. The last two are counted since the start. */
export interface AccountFigures {
  readonly name: string
  readonly reserved: number
  readonly most: number
  readonly refused: number
  readonly cut: number
}

export type Ledger = ReturnType<typeof createLedger>

/** The memory budgets of a process (design.md §6 bodies and memory). */
export function createLedger() {
  const accounts: AccountFigures[] = []
  return {
    open<R extends Reservation>(name: string, rules: AccountRules<R>): Account<R> {
      const account = new Account(name, rules)
      accounts.push(account)
      return account
    },
    figures: (): readonly AccountFigures[] =>
      accounts.map(({ name, reserved, most, refused, cut }) => {
        return { name, reserved, most, refused, cut }
      }),
  }
}

/** A budget of bytes that reservations share. */
export class Account<R extends Reservation = Reservation> implements AccountFigures {
  /** The bytes of all reservations. */
  reserved = 0
  refused = 0
  cut = 0
  readonly most: number
  readonly #bytesByOwner = new Map<string, number>()
  #freed: PromiseWithResolvers<void> | undefined

  constructor(
    readonly name: string,
    private readonly rules: AccountRules<R>,
  ) {
    this.most = rules.most
  }

  /** Gives a reservation so many bytes in all. Cuts others when the account is full; throws when that does not suffice. */
  reserve(reservation: R, bytes: number): void {
    if (bytes > reservation.bytes && this.#isFull(reservation, bytes)) {
      this.#makeRoom(reservation, bytes)
    }
    this.#set(reservation, bytes)
  }

  /** `reserve` that waits until the account has room. */
  async reserveInTurn(reservation: R, bytes: number): Promise<void> {
    while (this.#isFull(reservation, bytes)) {
      this.#freed ??= Promise.withResolvers()
      await this.#freed.promise
    }
    this.#set(reservation, bytes)
  }

  release(reservation: R): void {
    this.#set(reservation, 0)
  }

  /** Cuts reservations as long as that helps. */
  #makeRoom(reservation: R, bytes: number): void {
    for (const victim of this.rules.victims?.(reservation) ?? []) {
      if (!this.#isFull(reservation, bytes)) return
      // An owner over the limit gains nothing when others are cut.
      if (this.#isOwnerFull(reservation, bytes) && victim.owner !== reservation.owner) continue
      victim.cut()
      this.cut += 1
    }
    if (!this.#isFull(reservation, bytes)) return
    this.refused += 1
    throw this.rules.refuse()
  }

  #isFull(reservation: R, bytes: number): boolean {
    const others = this.reserved - reservation.bytes
    return this.#exceeds(others, bytes, this.most) || this.#isOwnerFull(reservation, bytes)
  }

  #isOwnerFull({ owner, bytes: own }: R, bytes: number): boolean {
    const { mostOfOwner } = this.rules
    if (mostOfOwner === undefined) return false
    return this.#exceeds((this.#bytesByOwner.get(owner) ?? 0) - own, bytes, mostOfOwner)
  }

  #exceeds(others: number, bytes: number, most: number): boolean {
    return others + bytes > most && (others > 0 || this.rules.isFreeAlone !== true)
  }

  #set(reservation: R, bytes: number): void {
    const more = bytes - reservation.bytes
    reservation.bytes = bytes
    this.reserved += more
    if (this.rules.mostOfOwner !== undefined) {
      const { owner } = reservation
      const ofOwner = (this.#bytesByOwner.get(owner) ?? 0) + more
      if (ofOwner > 0) this.#bytesByOwner.set(owner, ofOwner)
      else this.#bytesByOwner.delete(owner)
    }
    if (more >= 0 || this.#freed === undefined) return
    this.#freed.resolve()
    this.#freed = undefined
  }
}
