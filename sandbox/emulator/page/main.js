import { showCallbacks } from './callbacks.js'
import { showDevices, showMessages } from './devices.js'
import { byId, clock, h, post } from './dom.js'
import { showApi, showLine } from './lines.js'

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
  showDevices(state)
  showMessages(state)
  showLine(state)
  showApi(state)
  showCallbacks(state)
  showFindings(state)
  const link = byId('sandbox')
  link.hidden = state.about.sandboxUrl === null
  if (state.about.sandboxUrl) link.href = state.about.sandboxUrl
}

function showFindings({ findings }) {
  const box = byId('findings')
  box.hidden = findings.length === 0
  box.replaceChildren(
    h('h2', {}, 'Left the contract'),
    ...findings
      .toReversed()
      .map(({ at, by, body, fault }) =>
        h('p', {}, h('time', {}, clock(at)), ` ${by}: ${body} `, h('code', {}, fault)),
      ),
  )
}

function setLink(open) {
  const link = byId('link')
  link.textContent = open ? 'Live' : 'The emulator has ended'
  link.classList.toggle('on', open)
}

byId('clear').addEventListener('click', () => post('/clear', {}))

const events = new EventSource('/events')
events.addEventListener('open', () => setLink(true))
events.addEventListener('error', () => setLink(false))
events.addEventListener('message', refresh)
