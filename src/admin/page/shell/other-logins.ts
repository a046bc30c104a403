import { isPersonHere } from '../server/presence'
import { refreshSession, session } from '../server/session'
import { tellDone } from './toasts'

const EVERY_MS = 30_000

/** Tells of each login that begins elsewhere, until the result is called. */
export function watchLogins(): () => void {
  let known = session.peek()?.otherLogin?.at ?? 0
  const look = async () => {
    await refreshSession()
    const login = session.peek()?.otherLogin
    if (login === null || login === undefined || login.at <= known) return
    known = login.at
    tellDone(`Another login has begun, from ${login.address}: Server, Logins has them all`)
  }
  const timer = setInterval(() => {
    if (session.peek() && isPersonHere()) void look().catch(() => undefined)
  }, EVERY_MS)
  return () => clearInterval(timer)
}
