import { showDock } from './dock.js'
import { byId, post } from './dom.js'
import { showMails } from './mail.js'
import { showNewest, showPhone } from './phone.js'
import { showPlay } from './play.js'

let asking = false
let again = false

/** Asks for everything and shows it. Asked again meanwhile: once more afterwards. */
async function refresh() {
  if (asking) {
    again = true
    return
  }
  asking = true
  try {
    const response = await fetch('/state')
    show(await response.json())
  } finally {
    asking = false
    if (again) {
      again = false
      void refresh()
    }
  }
}

function show(state) {
  showPlay(state)
  showDock(state)
  showMails(state)
  showPhone(state)
  byId('count-mail').textContent = state.mails.length || ''
  byId('count-sms').textContent = state.sms.length || ''
  const devices = byId('devices')
  devices.hidden = state.about.devicesUrl === null
  if (state.about.devicesUrl) devices.href = state.about.devicesUrl
  const link = byId('console')
  link.hidden = state.about.consoleUrl === null
  if (state.about.consoleUrl) link.href = state.about.consoleUrl
}

function setLink(open) {
  const link = byId('link')
  link.textContent = open ? 'Live' : 'The sandbox has ended'
  link.classList.toggle('on', open)
}

/** On a narrow screen one part is shown at a time. */
function setView(view) {
  document.body.dataset.view = view
  for (const button of document.querySelectorAll('.views button'))
    button.setAttribute('aria-pressed', String(button.dataset.view === view))
  showNewest()
}

for (const button of document.querySelectorAll('.views button'))
  button.addEventListener('click', () => setView(button.dataset.view))
setView('play')

byId('clear').addEventListener('click', () => post('/clear', {}))

const events = new EventSource('/events')
events.addEventListener('open', () => setLink(true))
events.addEventListener('error', () => setLink(false))
events.addEventListener('message', refresh)
