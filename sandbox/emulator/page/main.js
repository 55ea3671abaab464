import { showApi } from './api.js'
import { showCallbacks } from './callbacks.js'
import { showDevices, showMessages } from './devices.js'
import { byId, clock, h } from './dom.js'
import { showLink, startPage } from './live-page.js'
import { showSubscription } from './subscription.js'

function show(state) {
  showDevices(state)
  showMessages(state)
  showSubscription(state)
  showApi(state)
  showCallbacks(state)
  showViolations(state)
  showLink('sandbox', state.about.sandboxUrl)
}

function showViolations({ violations }) {
  const box = byId('violations')
  box.hidden = violations.length === 0
  box.replaceChildren(
    h('h2', {}, 'Left the contract'),
    ...violations
      .toReversed()
      .map(({ at, by, body, fault }) =>
        h('p', {}, h('time', {}, clock(at)), ` ${by}: ${body} `, h('code', {}, fault)),
      ),
  )
}

startPage(show, 'The emulator has ended')
