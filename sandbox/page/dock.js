import { byId, clock, copyButton, h, tablist } from './dom.js'

let state = null
let tab = 'answers'
let shown = ''
let panel = null
/** Somebody has scrolled away from what is newest, and reads: nothing moves under their eyes. */
let read = false

/** The tabs at the bottom: the service's answers, its log, and where to reach it. */
export function showDock(next) {
  state = next
  if (!panel) build()
  const now = `${state.callbacks[0]?.id} ${state.log.length} ${state.log.at(-1)}`
  if (now !== shown) fill()
  shown = now
}

function build() {
  panel = h('div', {
    class: 'panel',
    role: 'tabpanel',
    tabindex: '0',
    'aria-label': 'Answers, log, addresses',
  })
  const tabs = [
    ['answers', 'Answers'],
    ['log', "Service's log"],
    ['connect', 'Connect your own'],
  ]
  panel.addEventListener('scroll', () => {
    read = Math.abs(panel.scrollTop - newest()) > 24
  })
  byId('dock').append(
    tablist('Below', tabs, tab, name => {
      tab = name
      read = false
      fill()
    }),
    panel,
  )
}

/** Where the newest of a tab stands: answers and addresses at the top, the log at the bottom. */
function newest() {
  return tab === 'log' ? panel.scrollHeight - panel.clientHeight : 0
}

function fill() {
  if (!panel || !state) return
  const rows = { answers, log, connect }[tab]()
  const open = new Set([...panel.querySelectorAll('details[open]')].map(row => row.dataset.id))
  panel.replaceChildren(...rows)
  for (const row of panel.querySelectorAll('details')) row.open = open.has(row.dataset.id)
  if (!read && open.size === 0) panel.scrollTop = newest()
}

function answers() {
  if (state.callbacks.length === 0)
    return [h('p', { class: 'none' }, 'What the service answers to the platform is listed here.')]
  return state.callbacks.map(({ id, at, channel, title, body, answer }) => {
    const answered = answer.is === 'answered'
    const good = answered && answer.errCode === 0
    return h(
      'details',
      { 'data-id': String(id) },
      h(
        'summary',
        { class: good ? 'good' : 'bad' },
        h('time', {}, clock(at)),
        h('span', { class: 'channel' }, channel === 'email' ? 'E-mail' : 'SMS'),
        h('span', { class: 'title' }, title),
        h('span', { class: 'http' }, answered ? `HTTP ${answer.status}` : 'no answer'),
        h('span', { class: 'err' }, answered ? `err_code ${answer.errCode ?? '?'}` : ''),
        h('span', { class: 'msg' }, answered ? answer.errMsg : answer.why),
        h('span', { class: 'ms' }, `${answer.ms} ms`),
      ),
      h('pre', {}, body ? `POST ${JSON.stringify(body, null, 2)}` : 'GET with timestamp and signature'),
      h('pre', {}, answered ? answer.body : answer.why),
    )
  })
}

function log() {
  if (state.log.length === 0) return [h('p', { class: 'none' }, 'The service has logged nothing yet.')]
  return [h('ol', { class: 'log' }, ...state.log.map(logEntry))]
}

/** A line of the log: the event first, then its fields. */
function logEntry(line) {
  try {
    const { time, level, event, message, ...fields } = JSON.parse(line)
    const rest = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
    return h(
      'li',
      { class: level >= 40 ? 'loud' : '' },
      h('time', {}, clock(Date.parse(time))),
      h('b', {}, event),
      message,
      h('span', {}, `  ${rest.join('  ')}`),
    )
  } catch {
    return h('li', {}, line)
  }
}

function connect() {
  const { about, recipients } = state
  const body = JSON.stringify({
    to: recipients.email,
    subject: 'Hello',
    email_param: { type: 3, code: '123456' },
  })
  const curl = `curl --cacert ${about.certFile} -H 'Content-Type: application/json' \\\n  -d '${body}' \\\n  ${about.urls.email}`
  const facts = [
    ['E-mail URL', about.urls.email],
    ['E-mail Token', about.tokens.email],
    ['SMS URL', about.urls.sms],
    ['SMS Token', about.tokens.sms],
    ['Enterprise (corp_id)', about.corpId],
    ...about.carriers.map(({ title, url }) => [title, url]),
    ['Private listener', about.adminUrl],
    ['By hand', curl],
  ]
  return [
    h(
      'dl',
      {},
      ...facts.flatMap(([name, value]) => [
        h('dt', {}, name),
        h('dd', {}, h('code', {}, value), copyButton(value)),
      ]),
    ),
  ]
}
