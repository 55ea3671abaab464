import t from 'tap'
import { createDeviceReporter, DEVICES, RULES } from '../../sandbox/emulator/device-simulator.ts'
import { isOnline, parseMessage } from '../../src/devices/message.ts'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'
import { inEnglish } from '../language/english.ts'

const at = Date.UTC(2026, 10, 20, 14, 32, 5, 123)
const reporter = createDeviceReporter({ corpId: '100fa4b2', now: () => at, id: () => '42' })
const [device, , large] = DEVICES
const [rule] = RULES
if (!device || !large || !rule) throw new Error('no devices')

const report = `"type":"tml","event":"e","thing_id":1`
const text = (publication: { topic: string; id: unknown; payload: object }, key = 'message_id') =>
  stringifyExactly({ topic: publication.topic, [key]: publication.id, payload: publication.payload })

t.test('a message of each of the four topics is parsed into its kind', async t => {
  t.match(parseMessage(text(reporter.online(device, false))), {
    is: 'message',
    message: {
      kind: 'online-state',
      id: '42',
      product: null,
      payload: { device_id: device.id, is_online: false, create_time: '2026-11-20T14:32:05.12Z' },
    },
  })
  const attributes = [
    { field: 'temperature', value: -12.5 },
    { field: 'mode', value: 'eco' },
  ]
  t.match(parseMessage(text(reporter.attributes(device, { temperature: -12.5, mode: 'eco' }))), {
    message: { kind: 'attributes', product: device.productId, payload: { attributes } },
  })
  const event = reporter.event(device, 'door', { open: '1' })
  // A leading slash makes no difference.
  for (const topic of [event.topic, `/${event.topic}`])
    t.match(parseMessage(text({ ...event, topic })), {
      message: {
        kind: 'event',
        payload: { event: 'door', time: at, events: [{ field: 'open', value: '1' }] },
      },
    })
  const rules = [{ id: rule.id, status: 1, notify: 2, current: -11, exception_describe: rule.describe }]
  t.match(parseMessage(text(reporter.alert(device, true, { rule, current: -11 }))), {
    message: {
      kind: 'alert',
      payload: { alert: { exception: true, time: '2026-11-20T14:32:05.123Z', rules } },
    },
  })
})

t.test('message_id or msgId, text or number, is the id', async t => {
  const publication = reporter.online(device, true)
  t.match(parseMessage(text(publication, 'msgId')), { message: { id: '42' } })
  t.match(parseMessage(text({ ...publication, id: 7 }, 'msgId')), { message: { id: '7' } })
  t.match(parseMessage(text({ ...publication, id: 9_007_199_254_740_993n })), {
    message: { id: '9007199254740993' },
  })
  t.match(parseMessage(text({ ...publication, id: null })), { message: { id: null } })
  t.match(parseMessage('{"topic":"a","message_id":"1","msgId":"2"}'), { message: { id: '1' } })
})

t.test('the online flag may come in any of its forms', async t => {
  for (const is_online of [true, 1, '1', 'true', 'online'] as const)
    t.ok(isOnline(is_online), String(is_online))
  for (const is_online of [false, 0, '0', 'false', 'offline'] as const)
    t.notOk(isOnline(is_online), String(is_online))
})

t.test('unknown topics and fields are passed on as they are', async t => {
  t.same(parseMessage('{"topic":"a/b","msgId":"1","payload":{"x":[1]}}'), {
    is: 'message',
    message: { kind: 'unknown', topic: 'a/b', id: '1', product: null, payload: { x: [1] } },
  })
  const publication = reporter.online(device, true)
  t.match(parseMessage(text({ ...publication, payload: { ...publication.payload, firmware: { v: 3 } } })), {
    message: { payload: { firmware: { v: 3 } } },
  })
})

t.test('a payload that is JSON text within the JSON is parsed', async t => {
  const { topic, payload } = reporter.alert(large, true)
  const nested = JSON.stringify({ topic, message_id: '1', payload: stringifyExactly(payload) })
  t.match(parseMessage(nested), {
    message: { kind: 'alert', payload: { device: { id: 9_007_199_254_740_993n } } },
  })
  const more = { many: Array.from({ length: 100 }, () => [{}]), deep: [[[[[[[[1]]]]]]]] }
  const brackets = JSON.stringify({ topic, payload: stringifyExactly({ ...payload, ...more }) })
  t.match(parseMessage(brackets), { message: { kind: 'alert', payload: { deep: more.deep } } })
})

t.test(
  'a payload that is JSON text thousands of levels deep is malformed, and its digits are not looked for',
  async t => {
    const deepest = JSON.stringify({ topic: 'a', payload: `{"x":${'['.repeat(63)}${']'.repeat(63)}}` })
    t.type(Object(parseMessage(deepest)).message.payload, 'object')
    for (const levels of [64, 20_000]) {
      const payload = `{"device":{"id":1},"alert":{"exception":true,"time":"2026-11-20T14:32:05.123Z"},"corp_id":"c","product_id":"p","x":${'['.repeat(levels)}12345678901234567${']'.repeat(levels)}}`
      const whole = JSON.stringify({ topic: '/device/alert/product/p', payload })
      const fault = '/payload must be object'
      t.match(inEnglish(parseMessage(whole)), { is: 'malformed', topic: 'alert', fault })
      t.match(parseMessage(whole.replace('/device/', '/devices/')), { is: 'message', message: { payload } })
    }
  },
)

t.test('fields that the contract calls optional may be null or missing', async t => {
  for (const rules of [null, [{ id: null, status: null, current: null }]]) {
    const alert = { exception: true, time: '', rules }
    const payload = { product_id: 'p', corp_id: 'c', device: { id: 1, mac: null }, alert }
    t.match(parseMessage(JSON.stringify({ topic: '/device/alert/product/p', payload })), { is: 'message' })
  }
  const event = `"version":1,"time":1,"product_id":null,${report},"events":[{"field":"f","value":null}]`
  t.match(parseMessage(`{"topic":"thing/event/p/event_report","payload":{${event}}}`), { is: 'message' })
  const state = '"product_id":"p","device_id":1,"is_online":0,"create_time":null,"project_id":null'
  t.match(parseMessage(`{"topic":"/device-biz/state/product","payload":{${state}}}`), { is: 'message' })
})

t.test('a malformed message is described by its shape, never by its values', async t => {
  const secret = 'S3CRET'
  const broken = [
    [`{"topic":"/device-biz/state/product","payload":{"product_id":"${secret}"}}`, /device_id/],
    [`{"topic":"/device/alert/product/${secret}","payload":{"${secret} x":"${secret}"}}`, /product_id/],
    [`{"topic":"/device/alert/product/p","payload":"${secret}"}`, /must be object/],
    [`{"topic":{"a":"${secret}"},"payload":{}}`, /must be text/],
    [
      `{"topic":"thing/event/p/device_attribute_sync_event","payload":{"version":1,"time":"${secret}",${report},"attributes":[]}}`,
      /time/,
    ],
    [
      `{"topic":"thing/event/p/event_report","payload":{"version":"${secret}","time":1,${report},"events":[]}}`,
      /version/,
    ],
    [
      `{"topic":"thing/event/p/device_attribute_sync_event","payload":{"version":1,"time":1,${report}}}`,
      /attr/,
    ],
  ] as const
  for (const [text, fault] of broken) {
    const read = parseMessage(text)
    t.match(inEnglish(read), { is: 'malformed', fault }, text)
    t.match(read.is === 'malformed' && read.fault.in('zh-CN'), /\p{Script=Han}/u)
    t.notMatch(JSON.stringify(read), secret)
  }
  t.throws(() => parseMessage(`{"topic":"${secret}`), { message: 'an object that is not JSON' })
  const payload = { device: { id: 1 }, list: [1, 2], none: null }
  t.same(inEnglish(parseMessage(JSON.stringify({ topic: '/device/alert/product/p', payload }))), {
    is: 'malformed',
    topic: 'alert',
    fault: "/payload must have required property 'product_id'",
    shape: '{"topic":"string","payload":{"device":{"id":"number"},"list":["number"],"none":null}}',
  })
})

t.test('the shape of a message is cut at 500 characters', async t => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, 1]))
  const read = parseMessage(JSON.stringify({ topic: '', payload: many }))
  t.match(read, { is: 'malformed', shape: /^\{"topic":"string","payload":\{"k0":"number",.*…$/ })
  t.equal(Object(read).shape.length, 501)
})

t.test('an object without a topic is no message', async t => {
  t.match(parseMessage('{"code":200,"msg":""}'), { is: 'other', body: { code: 200 } })
  t.match(parseMessage('{}'), { is: 'other' })
})
