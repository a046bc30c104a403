// Fetches the page again and replaces its live parts: less often while the server does not answer, not
// while nobody can see the page, and for half an hour after somebody has come back to it.
const EVERY_MS = 2_000
const AT_MOST_EVERY_MS = 30_000
const FOR_MS = 30 * 60_000

const LIVE = 'New mails appear here by themselves.'
const state = document.getElementById('state')
state.textContent = LIVE
let pause = EVERY_MS
let until = Date.now() + FOR_MS
let timer = setTimeout(refresh, EVERY_MS)

async function refresh() {
  timer = undefined
  if (document.hidden) return
  try {
    const answer = await fetch(location.pathname, { headers: { accept: 'text/html' } })
    if (!answer.ok) throw new Error(answer.status)
    replaceParts(new DOMParser().parseFromString(await answer.text(), 'text/html'))
    pause = EVERY_MS
    state.textContent = LIVE
  } catch {
    pause = Math.min(2 * pause, AT_MOST_EVERY_MS)
    state.textContent = 'The server does not answer.'
  }
  if (Date.now() < until) timer = setTimeout(refresh, pause)
  else state.textContent = 'Reload the page to see new mails.'
}

function replaceParts(page) {
  for (const part of document.querySelectorAll('.live')) {
    const next = page.getElementById(part.id)
    // Text that is selected stays selected while nothing changes.
    if (next !== null && next.innerHTML !== part.innerHTML) {
      part.replaceChildren(...next.childNodes)
    }
  }
}

function goOn() {
  until = Date.now() + FOR_MS
  pause = EVERY_MS
  if (timer === undefined) timer = setTimeout(refresh)
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) goOn()
})
addEventListener('focus', goOn)
