import { expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import { type AccountRules, createLedger, type Reservation } from '../../src/limits/ledger'

const refuse = () => new SatchelError('BUSY', 'full')
const of = (owner: string): Reservation => ({ owner, bytes: 0 })

function setup(rules: Partial<AccountRules<Reservation>> = {}) {
  const ledger = createLedger()
  const account = ledger.open('answers', { most: 100, refuse, ...rules })
  return { ledger, account }
}

test('an account refuses what exceeds it, and takes it when others have released theirs', () => {
  const { ledger, account } = setup()
  const [one, other] = [of('ada'), of('bob')]
  account.reserve(one, 70)
  expect(() => account.reserve(other, 31)).toThrow('full')
  expect(other.bytes).toBe(0)
  account.reserve(other, 30)
  expect(account.reserved).toBe(100)
  account.release(one)
  account.reserve(other, 100)
  expect(() => account.reserve(other, 101)).toThrow('full')
  expect(ledger.figures()).toEqual([
    { name: 'answers', reserved: 100, most: 100, refused: 2, cut: 0 },
  ])
})

test('a reservation shrinks in a full account, and has any size where one alone may', () => {
  const { account } = setup({ mostOfOwner: 50, isFreeAlone: true })
  const [one, other] = [of('ada'), of('ada')]
  account.reserve(one, 1_000)
  expect(() => account.reserve(other, 1)).toThrow('full')
  account.reserve(one, 40)
  account.reserve(other, 10)
  expect(() => account.reserve(other, 11)).toThrow('full')
  account.reserve(of('bob'), 50)
  expect(account.reserved).toBe(100)
})

test('the slowest are cut until there is room, and no others of an owner who has too much', () => {
  const all = new Set<Reservation>()
  const cut: string[] = []
  const { ledger, account } = setup({
    mostOfOwner: 60,
    victims: (wanting) =>
      [...all]
        .filter((one) => one !== wanting)
        .map((one) => ({
          owner: one.owner,
          cut() {
            cut.push(one.owner)
            all.delete(one)
            account.release(one)
          },
        })),
  })
  const reserve = (owner: string, bytes: number) => {
    const reservation = of(owner)
    account.reserve(reservation, bytes)
    all.add(reservation)
  }
  for (const owner of ['ada', 'bob', 'eve']) reserve(owner, 30)
  reserve('kim', 50)
  expect(cut).toEqual(['ada', 'bob'])
  reserve('kim', 20)
  expect(cut).toEqual(['ada', 'bob', 'kim'])
  expect(() => reserve('kim', 61)).toThrow('full')
  expect(ledger.figures()[0]).toMatchObject({ refused: 1, cut: 4, reserved: 30 })
})

test('a reservation waits for its turn until there is room', async () => {
  const { account } = setup()
  const [one, other] = [of('ada'), of('bob')]
  account.reserve(one, 80)
  let isThere = false
  const waiting = account.reserveInTurn(other, 60).then(() => (isThere = true))
  account.reserve(one, 60)
  await Bun.sleep(0)
  expect(isThere).toBe(false)
  account.release(one)
  await waiting
  expect(account.reserved).toBe(60)
})
