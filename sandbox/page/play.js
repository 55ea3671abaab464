import { byId, h, post } from './dom.js'
import { translate } from './translate.js'

const TITLES = { email: 'E-mail', sms: 'SMS' }
const SERVERS = { email: 'Mail server', sms: 'Carriers' }
let built = false

/** The buttons of each channel: what the platform can do to the service. They are built once. */
export function showPlay(state) {
  if (!built) {
    byId('play').append(row('email', state), row('sms', state))
    built = true
  }
  for (const channel of ['email', 'sms']) byId(`fault-${channel}`).value = state.faults[channel].now
}

function row(channel, state) {
  const to = h('input', {
    id: `to-${channel}`,
    value: state.recipients[channel],
    spellcheck: 'false',
    autocomplete: 'off',
    inputmode: channel === 'email' ? 'email' : 'tel',
  })
  const validate = chip('Validate URL', null, () => ({ channel, action: 'validate' }))
  const kinds = state.kinds
    .filter(kind => kind.channel === channel)
    .map(({ kind, title, type }) =>
      chip(title, type, () => ({ channel, action: 'send', kind, to: to.value.trim() })),
    )
  const all = h('button', { type: 'button', class: 'chip all' }, 'Play all')
  all.addEventListener('click', async () => {
    all.disabled = true
    for (const { send } of [validate, ...kinds]) await send()
    all.disabled = false
  })
  const again = chip('Same again', null, () => ({ channel, action: 'again' }), 'soft')
  const forge = chip('Wrong Token', null, () => ({ channel, action: 'forge' }), 'soft')
  again.button.title = translate(
    'Posts the last one once more, unchanged: a duplicate, which nobody should get twice',
  )
  forge.button.title = translate('Validates with a signature that was made with another Token')
  return h(
    'div',
    { class: 'row', role: 'group', 'aria-label': `${TITLES[channel]} callback` },
    h('h2', {}, TITLES[channel]),
    h('div', { class: 'chips' }, all, ...[validate, ...kinds, again, forge].map(({ button }) => button)),
    h(
      'div',
      { class: 'knobs' },
      h('label', {}, h('span', {}, 'To'), to),
      h('label', {}, h('span', {}, SERVERS[channel]), faults(channel, state.faults[channel])),
    ),
  )
}

/** A button that sends one callback and then shows by its dot how it was answered. */
function chip(title, type, body, more = '') {
  const number = type === null ? null : h('code', { title: `type ${type}` }, String(type))
  const button = h('button', { type: 'button', class: `chip ${more}` }, number, title)
  const send = async () => {
    button.classList.add('busy')
    const callback = await post('/play', body())
    button.classList.remove('busy', 'good', 'bad')
    if (!callback) return
    const { answer } = callback
    const good = answer.is === 'answered' && answer.errCode === 0
    button.classList.add(good ? 'good' : 'bad')
    const words = answer.is === 'answered' ? `err_code ${answer.errCode}, ${answer.ms} ms` : answer.why
    byId('last-answer').textContent = translate(`${callback.title}: ${words}`)
  }
  button.addEventListener('click', send)
  return { button, send }
}

function faults(channel, { now, all }) {
  const select = h(
    'select',
    { id: `fault-${channel}` },
    ...all.map(({ name, title }) => h('option', { value: name, selected: name === now }, title)),
  )
  select.addEventListener('change', () => post('/fault', { channel, name: select.value }))
  return select
}
