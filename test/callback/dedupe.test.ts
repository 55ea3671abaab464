import t from 'tap'
import type { Caller } from '../../src/callback/authenticate.ts'
import type { CallbackBody } from '../../src/callback/body.ts'
import { prepareMessages } from '../../src/callback/receive.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { Interpretation } from '../../src/messages/interpret.ts'
import type { Channel } from '../../src/messages/message.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'

const keys = createStoreKeys('a-store-secret-of-some-length')
const EMAIL: CallbackBody = {
  to: 'ann@example.com',
  subject: 'Your code',
  email_param: { type: 5, code: '123456', hour: '1' },
  plain_email: 'Your code is 123456.',
}
const SMS: CallbackBody = {
  to: '13800138000',
  sms_param: { type: 1, code: '123456', minute: '10' },
  plain_sms: 'Your code is 123456.',
  plugin_id: 'plugin-a',
}

/** What a callback is stored under, one for each recipient. */
function acceptances(
  channel: Channel,
  body: CallbackBody,
  { kind = 'a-code', purpose = 'code', corpId = 'corp', to = ['ann'], pluginId = '', caller = {} } = {},
) {
  const interpreted = {
    ok: true,
    kind,
    known: true,
    purpose,
    content: { params: {}, words: 'ours', ...(pluginId === '' ? {} : { pluginId }) },
    validityMs: 1000,
  } as Extract<Interpretation, { ok: true }>
  const prepared = prepareMessages(
    {
      keys,
      destinationOf: ({ recipient }, country) => `where ${recipient} is in ${country}`,
      render: ({ id, content }, country) => ({
        channel: 'email',
        id,
        to: `${country}`,
        raw: Buffer.alloc(0),
        content,
        expiresAt: 0,
      }),
      charges: (_message, country) => [{ bucket: country }] as never,
      delivery: { reservePlace: (...of: readonly string[]) => ({ token: of.join(' '), until: 0 }) } as never,
      emit: createEmitter([{ unrenderable: ({ error }) => void t.error(error) }]),
    },
    {
      caller: { channel, corpId, ...caller } as Caller,
      body,
      interpreted,
      recipients: to.map(each => ({ to: each, masked: '***', country: 'CN' })),
      arrivedAt: 500,
    },
  )
  return (prepared ?? []).map(({ acceptance, outgoing }) => ({ ...acceptance, renderedFor: outgoing }))
}

const keyOf = (channel: Channel, body: CallbackBody, more = {}) =>
  acceptances(channel, body, more)[0]?.dedupeKey
const email = (param: object = {}, more: object = {}) =>
  keyOf('email', { ...EMAIL, ...more, email_param: { ...(EMAIL['email_param'] as object), ...param } })
const sms = (more: object) => keyOf('sms', { ...SMS, ...more })

t.test('the same message again is the same, however it is written', async t => {
  t.equal(email(), keyOf('email', EMAIL))
  const reordered = { hour: '1', code: '123456', type: 5 }
  t.equal(keyOf('email', { ...EMAIL, email_param: reordered }), email(), 'in another order')
  t.equal(email({ code: 123456, type: '5' }), email(), 'a number as its text, and the other way round')
  t.equal(email({ code: ' 123456\t' }), email(), 'blanks around a value')
  for (const blank of ['', '  ', null, undefined])
    t.equal(email({ note: blank }), email(), `a parameter without a value: ${JSON.stringify(blank)}`)
  t.equal(email({}, { plain_email: null }), email({}, { plain_email: '  ' }))
  t.equal(sms({ plugin_id: null }), sms({ plugin_id: '' }))
})

t.test('another message is another, by whatever it differs', async t => {
  const all = [
    email(),
    email({ code: '123457' }),
    email({ type: 6 }),
    email({ note: '0' }),
    email({ note: false }),
    email({ code: undefined, cade: '123456' }),
    email({}, { subject: 'Another' }),
    email({}, { plain_email: 'Another text' }),
    email({}, { plain_email: null }),
    keyOf('email', EMAIL, { corpId: 'corp-2' }),
    keyOf('email', EMAIL, { to: ['bob'] }),
    keyOf('sms', { ...EMAIL, sms_param: EMAIL['email_param'] }),
    sms({}),
    sms({ plain_sms: 'Another text' }),
    sms({ plugin_id: 'plugin-b' }),
    sms({ plain_sms: 'plugin-a', plugin_id: 'Your code is 123456.' }),
  ]
  t.equal(new Set(all).size, all.length)
})

t.test('each recipient’s message is its own, and waits for a place where it goes', async t => {
  t.match(acceptances('sms', SMS, { purpose: 'alarm', to: ['ann', 'bob'] })[1], {
    message: {
      channel: 'sms',
      kind: 'a-code',
      recipient: 'bob',
      destination: 'where bob is in CN',
      arrivedAt: 500,
      expiresAt: 1500,
    },
    recipientHash: keys.recipientHash('sms', 'bob'),
    country: 'CN',
    charges: [{ bucket: 'CN' }],
    renderedFor: { to: 'CN' },
    lease: { token: 'sms alarm where bob is in CN' },
  })
  t.match(acceptances('sms', SMS, { caller: { probe: 'an id' } }), [
    { message: { id: 'an id', content: { isProbe: true } }, groupKey: undefined },
  ])
})

t.test('a code supersedes those of its own channel, recipient, kind and plugin only', async t => {
  const groupOf = (channel: Channel, body: CallbackBody, more = {}) =>
    acceptances(channel, body, more)[0]?.groupKey
  const own = groupOf('email', EMAIL)
  t.type(own, 'string')
  t.equal(groupOf('email', { ...EMAIL, email_param: { type: 5, code: '9' }, subject: 'x' }), own)
  for (const [label, other] of Object.entries({
    'another kind': groupOf('email', EMAIL, { kind: 'another-code' }),
    'another channel': groupOf('sms', SMS),
    'another recipient': groupOf('email', EMAIL, { to: ['bob'] }),
    'another plugin': groupOf('email', EMAIL, { pluginId: 'plugin-b' }),
  }))
    t.not(other, own, label)
  for (const purpose of ['link', 'file', 'alarm', 'plain'] as const)
    t.equal(groupOf('email', EMAIL, { purpose }), undefined, `no ${purpose} supersedes another`)
})
