import { Dexie } from 'dexie'
import { dexieCloud } from 'dexie-cloud-addon'

/** A web application with the published add-on and its own dialogs. */
const { databaseUrl = '' } = document.documentElement.dataset
const db = new Dexie('todo', { addons: [dexieCloud] })
db.version(1).stores({ todoItems: '@id, title' })
db.cloud.configure({ databaseUrl, disableWebSocket: true })

const [button, output] = [document.querySelector('button'), document.querySelector('output')]
button?.addEventListener('click', () => void db.cloud.login())
db.cloud.currentUser.subscribe(({ isLoggedIn, userId, accessToken, nonExportablePrivateKey }) => {
  if (output === null) return
  const key = nonExportablePrivateKey?.extractable === false ? 'a key that stays here' : 'no key'
  output.textContent = isLoggedIn ? `${userId} with ${key}` : 'nobody'
  output.title = accessToken ?? ''
})

// As the first query of an application does.
const opened = db.open()

// What the link in a mail brings along.
const { otpId, otp } = Object.fromEntries(new URL(location.href).searchParams)
if (otpId && otp) void db.cloud.login({ otpId, otp })

// A click before would have been for nothing.
await opened
if (button !== null) button.disabled = false
