import { byId, clock, h } from './dom.js'
import { translate } from './translate.js'

let last = null

/** The SMS as a phone shows them, and below each its number of segments, which is what it costs. */
export function showPhone({ sms }) {
  const newest = sms.at(-1)
  if (last === (newest?.id ?? '')) return
  last = newest?.id ?? ''
  byId('phone-from').textContent = newest?.from ?? translate('No messages yet')
  byId('phone-time').textContent = newest ? clock(newest.at, false) : '9:41'
  const thread = byId('thread')
  if (!newest) {
    thread.replaceChildren(h('li', { class: 'empty' }, 'SMS arrive here, with what each of them costs.'))
    return
  }
  thread.replaceChildren(...sms.map((message, at) => bubble(message, sms[at - 1])))
  showNewest()
}

/** Scrolls to the newest. To be called again when the phone has changed its size or become visible. */
export function showNewest() {
  const thread = byId('thread')
  thread.scrollTop = thread.scrollHeight
}

/** Formats a validity period. */
function formatPeriod(seconds) {
  if (seconds >= 7200) return `${Math.round(seconds / 360) / 10} h`
  return seconds >= 120 ? `${Math.round(seconds / 60)} min` : `${seconds} s`
}

function bubble(message, before) {
  const alone = message.encoding === 'GSM-7' ? 160 : 70
  const each = message.encoding === 'GSM-7' ? 153 : 67
  const limit = message.segments === 1 ? alone : message.segments * each
  const validity = message.validityPeriod
  return h(
    'li',
    {},
    before?.to === message.to ? null : h('p', { class: 'recipient' }, `to ${message.to}`),
    h('p', { class: 'bubble' }, ...withCodes(message.body)),
    h(
      'p',
      { class: message.segments > 1 ? 'cost more' : 'cost' },
      h('b', {}, message.segments === 1 ? '1 segment' : `${message.segments} segments`),
      ` ${message.encoding}, ${message.units} of ${limit}`,
      validity == null ? '' : `, valid ${formatPeriod(validity)}`,
      `, by ${message.carrier}`,
    ),
  )
}

/** Phones underline what looks like a code. */
function withCodes(text) {
  return text
    .split(/(?<!\d)(\d{4,8})(?!\d)/)
    .map((part, at) => (at % 2 === 1 ? h('span', { class: 'code' }, part) : part))
}
