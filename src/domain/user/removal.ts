import { continueJob, startJob } from '../job/job'
import type { JobStep } from '../job/job-runner'
import { handOver, leaveRealms } from './leaving'
import type { WriteTx } from '../store/store'
import { findUsersOfEmail, unknownUser } from './list'
import type { Job } from '../store/records'
import type { User } from '../store/users'
import { recipientOf } from '../store/mails'
import { foldEmail } from '../value/email'

/**
 * Removes a user (spec.md §3): from this commit the id is unused, its tokens have ended and its
 * private realm is empty; jobs erase its objects. Shared realms are left in this unit as far as
 * possible without delaying others, and by a job from there on. `now` in ms. Throws
 * `UNKNOWN_USER`.
 */
export async function removeUser(tx: WriteTx, id: string, now: number): Promise<void> {
  const user = await tx.users.find(id)
  if (user === undefined) throw unknownUser()
  await tx.users.remove(id)
  await tx.refreshTokens.removeOfUser(user.incarnation)
  for (const address of await addressesOf(tx, user)) {
    await tx.codes.removeOfSubject(address)
    await tx.mails.removeTo(recipientOf(address))
    await tx.invitations.removeTo(address)
  }
  const realm = await tx.realms.find(id)
  if (realm !== undefined) {
    await tx.realms.markErasing(realm.ref)
    await startJob(tx, 'erase', { realm: realm.ref }, now)
  }
  if (!(await leaveRealms(tx, id, now))) await startJob(tx, 'leave', { user: id }, now)
}

/** Where codes, mails and invitations for the user went, unless others have that address too. */
async function addressesOf(tx: WriteTx, { id, data }: User): Promise<readonly string[]> {
  const email = typeof data?.['email'] === 'string' ? foldEmail(data['email']) : id
  return email === id || (await findUsersOfEmail(tx, email)).length > 0 ? [id] : [id, email]
}

/** The jobs that a removal leaves behind, for the runner of a database. */
export const REMOVAL_STEPS: Readonly<Partial<Record<Job['kind'], JobStep>>> = {
  leave: (database, { id }) =>
    continueJob(database, id, async (tx, job) => {
      const user = String(job.state['user'])
      return (await leaveRealms(tx, user, job.created)) ? undefined : job
    }),

  'hand-over': (database, { id }) =>
    continueJob(database, id, async (tx, job) => {
      const { realm, after, isLooking } = job.state
      const place = { after: String(after), isLooking: isLooking === true }
      const next = await handOver(tx, Number(realm), place, job.created)
      return next && { ...job, state: { ...job.state, ...next } }
    }),
}
