import { byId, clock, copyButton, h, post } from './dom.js'

function toggle(title, on, path, body) {
  const box = h('input', { type: 'checkbox', checked: on, 'data-key': title })
  box.addEventListener('change', () => post(path, { ...body, on: box.checked }))
  return h('label', { class: 'switch' }, box, title)
}

function choose(title, value, options, change) {
  const select = h(
    'select',
    {},
    ...options.map(([name, text]) => h('option', { value: name, selected: name === value }, text)),
  )
  select.addEventListener('change', () => change(select.value))
  return h('label', { class: 'choice' }, h('span', {}, title), select)
}

function press(title, path, more = '') {
  return h('button', { type: 'button', class: `chip ${more}`, onclick: () => post(path, {}) }, title)
}

/** The subscription: who is there, and what goes wrong on the way. */
export function showLine({ line, faults, about }) {
  const subscribed = line.topics.length > 0
  byId('line').replaceChildren(
    h(
      'p',
      { class: `standing ${subscribed ? 'on' : 'off'}` },
      subscribed
        ? `${line.connections} connected, ${line.topics.length} topics, ${line.sent} messages sent`
        : `nobody subscribes (${about.ddqHost})`,
    ),
    h('ul', { class: 'topics' }, ...line.topics.map(topic => h('li', {}, h('code', {}, topic)))),
    h(
      'div',
      { class: 'switches' },
      ...faults.map(({ name, title, on }) => toggle(title, on, '/fault', { name })),
      toggle('the last ones again after a reconnect', line.redelivers, '/redelivery', {}),
      toggle('silence: nothing passes', line.silent, '/silent', {}),
      toggle('down: no connection', line.down, '/down', {}),
    ),
    h(
      'div',
      { class: 'chips' },
      press('Cut the line', '/cut', 'warm'),
      press('Revoke credentials', '/revoke'),
    ),
    h(
      'details',
      { class: 'manner', open: byId('line').querySelector('.manner')?.open ?? false },
      h('summary', {}, 'What the contract leaves open'),
      choose(
        'The identifier’s key',
        line.manner.idKey,
        [['message_id'], ['msgId']].map(([key]) => [key, key]),
        value => post('/manner', { idKey: value }),
      ),
      choose(
        'Messages come on',
        line.manner.on,
        [
          ['subscription', 'each subscription’s stream'],
          ['authentication', 'the authentication’s stream'],
        ],
        value => post('/manner', { on: value }),
      ),
      choose(
        'Between two messages',
        line.manner.separator,
        [
          ['\n', 'a line end'],
          ['', 'nothing'],
        ],
        value => post('/manner', { separator: value }),
      ),
    ),
  )
}

/** The API: where it is, who may log in, what it was asked. */
export function showApi({ api, about }) {
  const { corp, user, app } = about.accounts
  const rows = [
    ['Base URL', about.baseUrl],
    ['Member', `${corp.account} / ${corp.password}`],
    ['User', `${user.email} / ${user.password}`],
    ['Application', `${app.appId} / ${app.appSecret}`],
    [
      'Settings',
      Object.entries(about.settings)
        .map(pair => pair.join('='))
        .join('\n'),
    ],
  ]
  byId('api').replaceChildren(
    h(
      'dl',
      {},
      ...rows.flatMap(([name, value]) => [
        h('dt', {}, name),
        h(
          'dd',
          {},
          h('code', {}, value.split('\n')[0] + (value.includes('\n') ? ' …' : '')),
          copyButton(value),
        ),
      ]),
    ),
    h(
      'div',
      { class: 'chips', role: 'group', 'aria-label': 'Call it as a client would' },
      ...Object.entries(api.tries).map(([what, title]) =>
        h('button', { type: 'button', class: 'chip small', onclick: () => post('/try', { what }) }, title),
      ),
    ),
    h('p', { class: 'tried', role: 'status' }, api.tried),
    choose('The gateway', api.fault ?? '', [['', 'works'], ...Object.entries(api.faults)], value =>
      post('/api-fault', { name: value === '' ? null : value }),
    ),
    h(
      'ol',
      { class: 'calls' },
      ...api.exchanges
        .toReversed()
        .slice(0, 8)
        .map(({ at, method, as, path, status, code }) =>
          h(
            'li',
            { class: code === 200 ? 'good' : 'bad' },
            h('time', {}, clock(at)),
            h('span', {}, method === as ? method : `${method} as ${as}`),
            h('code', {}, path),
            h('b', {}, code === 200 ? String(status) : `${status} ${code}`),
          ),
        ),
    ),
  )
}
