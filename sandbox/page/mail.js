import { byId, clock, h, tablist } from './dom.js'

let mails = []
let shown = null
let tab = 'html'
let width = 'wide'
let scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'

/** The list of mails, newest first. When the newest is shown, the next one takes its place. */
export function showMails(state) {
  const followed = shown === null || shown === mails[0]?.id
  const changed = mails[0]?.id !== state.mails[0]?.id || mails.length !== state.mails.length
  if (!changed && mails.length > 0) return
  mails = state.mails
  byId('inbox-count').textContent = mails.length || ''
  const id = followed ? mails[0]?.id : shown
  byId('mails').replaceChildren(...mails.map(item))
  void open(mails.some(mail => mail.id === id) ? id : (mails[0]?.id ?? null))
}

function item(mail) {
  return h(
    'li',
    { role: 'option', id: `mail-${mail.id}`, 'aria-selected': 'false', onclick: () => choose(mail.id) },
    h('span', { class: 'subject' }, mail.subject || '(no subject)'),
    h('time', {}, clock(mail.at)),
    h('span', { class: 'to' }, mail.to),
    h('span', { class: 'preview' }, mail.preview),
  )
}

/** Opens the mail that a person chose: on a narrow screen it takes the list's place. */
function choose(id) {
  document.body.classList.add('reading')
  void open(id)
}

async function open(id) {
  const list = byId('mails')
  for (const option of list.children) option.setAttribute('aria-selected', String(option.id === `mail-${id}`))
  if (id === null) {
    shown = null
    list.removeAttribute('aria-activedescendant')
    byId('reader').replaceChildren(nothing())
    return
  }
  list.setAttribute('aria-activedescendant', `mail-${id}`)
  byId(`mail-${id}`).scrollIntoView({ block: 'nearest' })
  if (shown === id) return
  shown = id
  const response = await fetch(`/mail/${id}`)
  if (response.ok && shown === id) show(await response.json())
}

/** Shows a mail. The focus stays on the tabs if it was there. */
function show(mail) {
  const pane = byId('reader')
  const atTabs = pane.contains(document.activeElement) && document.activeElement.role === 'tab'
  pane.replaceChildren(...reader(mail))
  if (atTabs) pane.querySelector('[role=tab][aria-selected=true]').focus()
}

byId('mails').addEventListener('keydown', event => {
  const at = mails.findIndex(mail => mail.id === shown)
  const to = {
    ArrowDown: at + 1,
    j: at + 1,
    ArrowUp: at - 1,
    k: at - 1,
    Home: 0,
    End: mails.length - 1,
    Enter: at,
  }[event.key]
  if (to === undefined || !mails[to]) return
  event.preventDefault()
  if (event.key === 'Enter') choose(mails[to].id)
  else void open(mails[to].id)
})

function nothing() {
  return h(
    'div',
    { class: 'nothing' },
    h('div', { class: 'envelope', 'aria-hidden': 'true' }),
    h('h3', {}, 'Nothing has arrived yet'),
    h(
      'p',
      {},
      'Press a kind above. The platform posts it to the service, the service sends it, and here is what its reader gets.',
    ),
  )
}

function reader(mail) {
  const panel = h('div', { class: 'panel', role: 'tabpanel', 'aria-label': 'The mail' })
  const knobs = h('div', { class: 'segmented' })
  const show = name => {
    tab = name
    knobs.hidden = name !== 'html'
    panel.replaceChildren(panels[name](mail))
  }
  const refresh = () => {
    knobs.replaceChildren(
      knob('Wide', width === 'wide', () => (width = 'wide')),
      knob('Phone', width === 'phone', () => (width = 'phone')),
      knob('Light', scheme === 'light', () => (scheme = 'light')),
      knob('Dark', scheme === 'dark', () => (scheme = 'dark')),
    )
  }
  const knob = (title, on, set) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(on),
        onclick: () => {
          set()
          refresh()
          applyView(panel.querySelector('iframe'))
        },
      },
      title,
    )
  refresh()
  const tabs = [
    ['html', 'HTML'],
    ['text', 'Text'],
    ['source', 'Source'],
  ]
  return [head(mail), h('div', { class: 'bar' }, tablist('Views of the mail', tabs, tab, show), knobs), panel]
}

function head(mail) {
  const envelope = `${mail.envelope.from} → ${mail.envelope.to.join(', ')}`
  return h(
    'header',
    {},
    h(
      'button',
      { type: 'button', class: 'back', onclick: () => document.body.classList.remove('reading') },
      '‹ Inbox',
    ),
    h('h3', {}, mail.subject || '(no subject)'),
    h('p', { class: 'people' }, h('b', {}, mail.from), ' to ', mail.to, h('time', {}, clock(mail.at))),
    h(
      'p',
      { class: 'envelope-line' },
      h(
        'span',
        { title: 'MAIL FROM and RCPT TO, as the SMTP dialogue said' },
        'Envelope ',
        h('code', {}, envelope),
      ),
      h('span', { class: mail.tls ? 'good' : 'bad' }, mail.tls ? 'STARTTLS' : 'not encrypted'),
      h('span', {}, mail.user ? `logged in as ${mail.user}` : 'not logged in'),
    ),
  )
}

const panels = {
  html: mail => {
    if (!mail.hasHtml) return h('p', { class: 'none' }, 'This mail has no HTML part.')
    const frame = h('iframe', {
      title: `HTML of the mail: ${mail.subject}`,
      sandbox: 'allow-popups allow-popups-to-escape-sandbox',
      src: `/mail/${mail.id}/html`,
    })
    applyView(frame)
    return frame
  },
  text: mail => h('pre', { class: 'text', tabindex: '0' }, mail.text),
  source: mail =>
    h(
      'div',
      { class: 'source' },
      h(
        'a',
        { class: 'ghost', href: `/mail/${mail.id}/raw`, download: true },
        `Download .eml (${mail.bytes} bytes)`,
      ),
      h('pre', { tabindex: '0' }, mail.source),
    ),
}

/** Sets width and colour scheme; the frame's scheme is what the mail sees as its reader's preference. */
function applyView(frame) {
  if (frame) frame.className = `${width} ${scheme}`
}
