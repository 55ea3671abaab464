import { byId, clock, h, post } from './dom.js'

let built = null

/** The customer's URL as it is entered in the console, and the calls of it. */
export function showCallbacks({ kinds, callbackCalls, about }) {
  built ??= build(kinds, about)
  built.list.replaceChildren(
    ...callbackCalls
      .toReversed()
      .slice(0, 8)
      .map(({ at, title, answer, fault }) => {
        const good = answer.is === 'answered' && answer.errCode === 0 && fault === null
        const words = answer.is === 'answered' ? `${answer.status}, err_code ${answer.errCode}` : answer.why
        return h(
          'li',
          { class: good ? 'good' : 'bad', title: fault ?? answer.errMsg ?? '' },
          h('time', {}, clock(at)),
          h('span', {}, title),
          h('b', {}, words),
        )
      }),
  )
}

function build(kinds, about) {
  const field = (id, title, value) => {
    const input = h('input', { id, value, spellcheck: 'false', autocomplete: 'off' })
    return { input, label: h('label', { class: 'choice' }, h('span', {}, title), input) }
  }
  const url = field('url', 'URL', '')
  url.input.placeholder = 'https://127.0.0.1:8443/callback/…/email'
  const corpId = field('corp', 'corp_id', about.accounts.corp.corpId)
  const token = field('token', 'Token', '')
  const kind = h(
    'select',
    { 'aria-label': 'Kind' },
    ...kinds.map(({ channel, kind, type, title }) =>
      h(
        'option',
        { value: `${channel}/${kind}` },
        `${channel === 'email' ? 'E-mail' : 'SMS'} ${type}: ${title}`,
      ),
    ),
  )
  const send = async more => {
    const [channel, name] = kind.value.split('/')
    await post('/callback', {
      url: url.input.value.trim(),
      corpId: corpId.input.value.trim(),
      token: token.input.value,
      channel,
      ...(more ? { kind: name } : {}),
    })
  }
  const list = h('ol', { class: 'calls' })
  byId('callbacks').replaceChildren(
    url.label,
    corpId.label,
    token.label,
    h('label', { class: 'choice' }, h('span', {}, 'Kind'), kind),
    h(
      'div',
      { class: 'chips' },
      h('button', { type: 'button', class: 'chip', onclick: () => send(false) }, 'Validate URL'),
      h('button', { type: 'button', class: 'chip', onclick: () => send(true) }, 'Send'),
    ),
    list,
  )
  return { list }
}
