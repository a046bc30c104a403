import { callerOf, type Caller } from '../http/setup'
import { setupExecutable } from '../promises/setup'
import type { Finding } from './experiment'
import { createRandom, type Random } from './random'
import { compareTimes, drawTurns, MOST_T } from './welch'

/** Requests before the first that counts: the runtime has compiled by then what it compiles. */
const WARM_UP = 1_000
const AT_ONCE = 1_000

/**
 * Promise 22: how long step 1 of a login by e-mail takes says nothing about whether the address is
 * that of a user. Sign-up is closed, so that the mails have different texts.
 */
export async function timeAddresses(samples: number, seed: number): Promise<Finding> {
  using hook = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(null) })
  await using executable = await setupExecutable({
    environment: {
      SATCHEL_MAIL_HOOK: `http://127.0.0.1:${hook.port}/`,
      SATCHEL_MAIL_HOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
      SATCHEL_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8',
      // Each request comes from another network, so that the caps do not apply.
      SATCHEL_TRUST_PROXY: '127.0.0.0/8',
      SATCHEL_DURABILITY: 'relaxed',
      SATCHEL_LOG_LEVEL: 'error',
    },
  })
  await executable.commands.run('policy.set', {
    database: 'main',
    newUsers: 'reject',
    evalDays: null,
    seats: null,
    hookUrl: null,
  })
  await addUsers(await executable.root(), samples)
  const random = createRandom(seed)
  const problems = new Set<string>()
  const ask = async (email: string) => {
    const begin = Bun.nanoseconds()
    const { status, text } = await callerOf(executable.main).post(
      '/token',
      { grant_type: 'otp', email, scopes: ['ACCESS_DB'] },
      { 'x-forwarded-for': anyNetwork(random) },
    )
    const time = Bun.nanoseconds() - begin
    const isSent = status === 200 && /^\{"type":"otp-sent","otp_id":"[\w-]{22}"\}$/.test(text)
    if (!isSent) problems.add(`${email} was answered ${status} ${text}`)
    return time / 1_000
  }
  for (let turn = 0; turn < WARM_UP; turn += 1) await ask(`w${random.between(1, 1e9)}@x.org`)
  const [known, unknown] = [new Float64Array(samples), new Float64Array(samples)]
  const asked = [0, 0]
  for (const turn of drawTurns(samples, random)) {
    const sample = asked[turn]!++
    const times = turn === 0 ? known : unknown
    times[sample] = await ask(addressOf(turn === 0 ? 'known' : 'other', sample))
  }
  const { t, difference } = compareTimes(known, unknown)
  if (Math.abs(t) >= MOST_T) problems.add(`whether an address is known shows: t = ${t.toFixed(2)}`)
  return { facts: `t = ${t.toFixed(2)}, ${difference.toFixed(1)} µs`, problems: [...problems] }
}

async function addUsers(root: Caller, count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const users = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => {
      return { userId: addressOf('known', from + at), type: 'prod' }
    })
    const { status, text } = await root.post('/users', users)
    if (status !== 200) throw new Error(`No users: ${status} ${text}`)
  }
}

function addressOf(what: 'known' | 'other', number: number): string {
  return `${what}${String(number).padStart(6, '0')}@example.com`
}

function anyNetwork(random: Random): string {
  return `10.${random.between(0, 255)}.${random.between(0, 255)}.${random.between(1, 254)}`
}
