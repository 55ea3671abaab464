import { byId, clock, h, post } from './dom.js'

const act = (device, action, rule) => post('/act', { device, action, ...(rule ? { rule } : {}) })

function button(title, onclick, more = '') {
  return h('button', { type: 'button', class: `chip ${more}`, onclick }, title)
}

/** A card for each device: its identifiers, its state, and a button for each action. */
export function showDevices({ devices, rules }) {
  const focused = document.activeElement?.dataset?.key
  byId('devices').replaceChildren(...devices.map(device => card(device, rules)))
  if (focused) document.querySelector(`[data-key="${focused}"]`)?.focus()
}

function card({ id, name, mac, product, online, alarms }, rules) {
  const keyed = (element, key) => {
    element.dataset.key = `${id}-${key}`
    return element
  }
  return h(
    'article',
    { class: alarms.length > 0 ? 'alarmed' : online ? '' : 'offline', 'aria-label': name },
    h(
      'header',
      {},
      h('h3', {}, name),
      h('span', { class: `state ${online ? 'on' : 'off'}` }, online ? 'online' : 'offline'),
    ),
    h('p', { class: 'ids' }, h('code', {}, id), ' ', h('code', {}, mac), ' ', h('code', {}, product)),
    h(
      'div',
      { class: 'chips' },
      keyed(
        online
          ? button('Go offline', () => act(id, 'offline'), 'warm')
          : button('Come online', () => act(id, 'online'), 'good'),
        'online',
      ),
      keyed(
        button('Report attributes', () => act(id, 'attributes')),
        'attributes',
      ),
      keyed(
        button('Report event', () => act(id, 'event')),
        'event',
      ),
    ),
    ...rules.map(rule => {
      const broken = alarms.includes(rule.id)
      return h(
        'div',
        { class: `rule ${broken ? 'broken' : ''}` },
        h('span', {}, rule.describe),
        h(
          'div',
          { class: 'chips' },
          keyed(
            button(broken ? 'Again' : 'Alarm', () => act(id, 'alarm', rule.id), broken ? '' : 'warm'),
            `alarm-${rule.id}`,
          ),
          ...(broken
            ? [
                keyed(
                  button('Handle', () => act(id, 'handle', rule.id)),
                  `handle-${rule.id}`,
                ),
              ]
            : []),
          keyed(
            button('Recover', () => act(id, 'recover', rule.id), broken ? 'good' : ''),
            `recover-${rule.id}`,
          ),
        ),
      )
    }),
  )
}

const opened = new Set()

/** The messages that were sent, newest first. Opening one shows its payload. */
export function showMessages({ sentMessages }) {
  byId('messages-count').textContent = sentMessages.length || ''
  const rows = sentMessages.toReversed().map(({ at, title, topic, id, payload, receivers }) => {
    const [device, ...what] = title.split(' ')
    const details = h(
      'details',
      { open: opened.has(id) },
      h(
        'summary',
        {},
        h('time', {}, clock(at)),
        h('b', {}, `${device} `, what.join(' ')),
        h(
          'span',
          { class: receivers > 0 ? 'received' : 'unsubscribed' },
          receivers > 0 ? `heard by ${receivers}` : 'nobody subscribes',
        ),
        h('code', {}, topic),
      ),
      h('pre', {}, payload),
    )
    details.addEventListener('toggle', () => (details.open ? opened.add(id) : opened.delete(id)))
    return h('li', {}, details)
  })
  byId('messages').replaceChildren(
    ...(rows.length > 0 ? rows : [h('li', { class: 'none' }, 'Nothing yet: press a button of a device.')]),
  )
}
