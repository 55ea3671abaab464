import { showDock } from './dock.js'
import { byId } from './dom.js'
import { showLink, startPage } from './live-page.js'
import { showMails } from './mail.js'
import { showNewest, showPhone } from './phone.js'
import { showPlay } from './play.js'

function show(state) {
  showPlay(state)
  showDock(state)
  showMails(state)
  showPhone(state)
  byId('count-mail').textContent = state.mails.length || ''
  byId('count-sms').textContent = state.sms.length || ''
  showLink('devices', state.about.devicesUrl)
  showLink('console', state.about.consoleUrl)
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
startPage(show, 'The sandbox has ended')
