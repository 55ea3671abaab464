import { selectField } from './controls.js'
import { byId, clock, copyButton, h, post } from './dom.js'

/** The API: its address, its accounts, buttons that send requests, and the requests it got. */
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
      ...Object.entries(api.requests).map(([name, title]) =>
        h(
          'button',
          { type: 'button', class: 'chip small', onclick: () => post('/request', { name }) },
          title,
        ),
      ),
    ),
    h('p', { class: 'last-result', role: 'status' }, api.lastResult),
    selectField('The gateway', api.fault ?? '', [['', 'works'], ...Object.entries(api.faults)], value =>
      post('/api-fault', { name: value === '' ? null : value }),
    ),
    h(
      'ol',
      { class: 'calls' },
      ...api.exchanges
        .toReversed()
        .slice(0, 8)
        .map(({ at, method, handledAs, path, status, code }) =>
          h(
            'li',
            { class: code === 200 ? 'good' : 'bad' },
            h('time', {}, clock(at)),
            h('span', {}, method === handledAs ? method : `${method} as ${handledAs}`),
            h('code', {}, path),
            h('b', {}, code === 200 ? String(status) : `${status} ${code}`),
          ),
        ),
    ),
  )
}
