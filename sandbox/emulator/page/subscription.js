import { selectField } from './controls.js'
import { byId, h, post } from './dom.js'

function toggle(title, on, path, body) {
  const box = h('input', { type: 'checkbox', checked: on, 'data-key': title })
  box.addEventListener('change', () => post(path, { ...body, on: box.checked }))
  return h('label', { class: 'switch' }, box, title)
}

function button(title, path, more = '') {
  return h('button', { type: 'button', class: `chip ${more}`, onclick: () => post(path, {}) }, title)
}

/** The data subscription: its clients, and a switch for each fault. */
export function showSubscription({ subscription, faults, about }) {
  const subscribed = subscription.topics.length > 0
  byId('subscription').replaceChildren(
    h(
      'p',
      { class: `connection ${subscribed ? 'on' : 'off'}` },
      subscribed
        ? `${subscription.connections} connected, ${subscription.topics.length} topics, ${subscription.sent} messages sent`
        : `nobody subscribes (${about.ddqHost})`,
    ),
    h('ul', { class: 'topics' }, ...subscription.topics.map(topic => h('li', {}, h('code', {}, topic)))),
    h(
      'div',
      { class: 'switches' },
      ...faults.map(({ name, title, on }) => toggle(title, on, '/fault', { name })),
      toggle('the last ones again after a reconnect', subscription.redelivers, '/redelivery', {}),
      toggle('silence: nothing passes', subscription.silent, '/silent', {}),
      toggle('down: no connection', subscription.down, '/down', {}),
    ),
    h(
      'div',
      { class: 'chips' },
      button('Cut the line', '/cut', 'warm'),
      button('Revoke credentials', '/revoke'),
    ),
    h(
      'details',
      { class: 'variant', open: byId('subscription').querySelector('.variant')?.open ?? false },
      h('summary', {}, 'What the contract leaves open'),
      selectField(
        'The identifier’s key',
        subscription.variant.idKey,
        [['message_id'], ['msgId']].map(([key]) => [key, key]),
        value => post('/variant', { idKey: value }),
      ),
      selectField(
        'Messages come on',
        subscription.variant.on,
        [
          ['subscription', 'each subscription’s stream'],
          ['authentication', 'the authentication’s stream'],
        ],
        value => post('/variant', { on: value }),
      ),
      selectField(
        'Between two messages',
        subscription.variant.separator,
        [
          ['\n', 'a line end'],
          ['', 'nothing'],
        ],
        value => post('/variant', { separator: value }),
      ),
    ),
  )
}
