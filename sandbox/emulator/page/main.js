import { showCallbacks } from './callbacks.js'
import { showDevices, showMessages } from './devices.js'
import { byId, clock, h } from './dom.js'
import { showApi, showLine } from './lines.js'
import { showLink, startPage } from './live-page.js'

function show(state) {
  showDevices(state)
  showMessages(state)
  showLine(state)
  showApi(state)
  showCallbacks(state)
  showFindings(state)
  showLink('sandbox', state.about.sandboxUrl)
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

startPage(show, 'The emulator has ended')
