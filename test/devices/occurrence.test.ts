import t from 'tap'
import type { Publication } from '../../sandbox/emulator/ddq-broker.ts'
import { createDeviceReporter, DEVICES, RULES } from '../../sandbox/emulator/device-simulator.ts'
import { parseMessage } from '../../src/devices/message.ts'
import { type Occurrence, occurrencesOf } from '../../src/devices/occurrence.ts'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'

const at = Date.UTC(2026, 10, 20, 14, 32, 5, 120)
const reporter = createDeviceReporter({ corpId: '100fa4b2', now: () => at, id: () => '42' })
const [device, , large] = DEVICES
const [rule, door] = RULES
if (!device || !large || !rule || !door) throw new Error('no devices')

function read({ topic, id, payload }: Pick<Publication, 'topic' | 'payload'> & { id?: unknown }) {
  const reading = parseMessage(
    stringifyExactly({ topic, ...(id === undefined ? {} : { message_id: id }), payload }),
  )
  if (reading.is !== 'message') throw new Error(JSON.stringify(reading))
  return occurrencesOf(reading.message)
}
const only = (found: readonly Occurrence[]): Occurrence => {
  const [first, ...more] = found
  if (!first || more.length > 0) throw new Error(`${found.length} occurrences`)
  return first
}

const OF_DEVICE = { device: '1144502133', product: '1607d2b64f8a1f41' }
const TIME = '2026-11-20 14:32:05 UTC'
/** What an alert of these rules tells. */
const readRules = (rules: readonly object[]) => {
  const { topic, payload } = reporter.alert(device, true, { rule })
  return read({
    topic,
    payload: { ...payload, alert: { exception: true, time: '2026-11-20T14:32:05Z', rules } },
    id: '7',
  })
}

t.test('a device that goes offline is an alarm, one that comes back a recovery', async t => {
  t.strictSame(only(read(reporter.online(device, false))), {
    ...OF_DEVICE,
    source: 'state',
    rule: '',
    is: 'alarm',
    canRecover: true,
    at,
    kind: 'device-offline',
    params: { ...OF_DEVICE, project: 'ac0401', time: TIME },
    identity: ['state', 'alarm', '', '42', '1144502133'],
  })
  t.match(only(read(reporter.online(device, true))), { is: 'recovery', kind: 'device-online' })
})

t.test('an event is an alarm that cannot recover', async t => {
  t.strictSame(only(read(reporter.event(device, 'door_forced', { door: 2, by: 'hand' }))), {
    ...OF_DEVICE,
    source: 'event',
    rule: 'door_forced',
    is: 'alarm',
    canRecover: false,
    at,
    kind: 'device-event',
    params: { ...OF_DEVICE, event: 'door_forced', values: 'door: 2, by: hand', time: TIME },
    identity: ['event', 'alarm', 'door_forced', '42', '1144502133'],
  })
  const bare = only(read(reporter.event(device, 'tamper', {})))
  t.strictSame(bare.params, { ...OF_DEVICE, event: 'tamper', time: TIME }, 'without fields, too')
})

t.test('an alert says what rule, what value and since when', async t => {
  const alarm = reporter.alert(device, true, { rule, current: -11.5, count: 3, startedAt: at - 300_000 })
  t.strictSame(only(read(alarm)), {
    ...OF_DEVICE,
    source: 'alert',
    rule: 'rule-temperature',
    is: 'alarm',
    canRecover: true,
    at,
    kind: 'device-alert',
    params: {
      ...OF_DEVICE,
      mac: 'A4C138F0112B',
      rule: 'rule-temperature',
      condition: 'Temperature above -15 °C for 5 minutes',
      content: 'Freezer too warm: check the door and the compressor',
      current: '-11.5',
      count: '3',
      time: TIME,
      since: '2026-11-20 14:27:05 UTC',
    },
    identity: ['alert', 'alarm', 'rule-temperature', '42', '1144502133'],
  })
  t.match(only(read(reporter.alert(device, false, { rule }))), { is: 'recovery', kind: 'device-recovered' })
  const begun = only(read(reporter.alert(device, true, { rule, startedAt: at })))
  t.notOk('since' in begun.params, 'it has begun just now')
})

t.test('an alert without rules is one by its flag', async t => {
  t.match(only(read(reporter.alert(device, true))), {
    rule: '',
    is: 'alarm',
    params: { device: '1144502133' },
  })
  t.match(only(read(reporter.alert(device, false))), { is: 'recovery' })
})

t.test('each rule of an alert is an occurrence of its own; one that was handled by hand is none', async t => {
  const found = readRules([
    { id: 'a', status: 1, recover_time: '2026-11-20T14:30:00Z' },
    { id: 'b', status: 2, recover_time: '2026-11-20T14:30:00Z' },
    { id: 'c', status: 3 },
    { id: 'd', status: '2' },
    { id: 'e', status: null },
    { exception_describe: 'nameless', status: 1 },
  ])
  // A recovery is of when the rule recovered, where that is said.
  const times = found.slice(0, 3).map(({ params }) => params['time']?.slice(11, 19))
  t.same(times, ['14:32:05', '14:30:00', '14:32:05'])
  const told = found.map(({ rule, is }) => `${rule} ${is}`)
  t.same(told, ['a alarm', 'b recovery', 'd recovery', 'e alarm', 'nameless alarm'])
})

t.test('of one message at most a hundred rules are told', async t => {
  const rules = Array.from({ length: 101 }, (_, n) => ({ id: `r${n}`, status: 1 }))
  t.equal(readRules(rules).length, 100)
})

t.test('the product is that of the payload, or else of the topic; a value of 0 is one', async t => {
  const { topic, payload } = reporter.event(device, 'door', {})
  const events = [
    { field: 'open', value: 0 },
    { field: 'by', value: null },
  ]
  const event = (product_id: unknown) => only(read({ topic, payload: { ...payload, product_id, events } }))
  t.match(event(null), { product: device.productId, params: { values: 'open: 0, by: -' } })
  t.match(event('p2'), { product: 'p2', params: { product: 'p2' } })
})

t.test('identifiers beyond 2^53 reach the words with all their digits', async t => {
  t.equal(only(read(reporter.alert(large, true))).device, '9007199254740993')
})

t.test('messages without an id are the same when they say the same', async t => {
  const { topic, payload } = reporter.online(device, false)
  const { identity } = only(read({ topic, payload }))
  const said = { ...OF_DEVICE, project: 'ac0401', time: TIME }
  t.same(identity, [
    'state',
    'alarm',
    '',
    '',
    said.product,
    said.device,
    String(at),
    ...Object.entries(said).flat(),
  ])
})

t.test('attribute reports and unknown topics are no occurrence', async t => {
  t.same(read(reporter.attributes(device, { temperature: 5 })), [])
  t.same(read({ topic: 'something/else', payload: { a: 1 }, id: '1' }), [])
})

t.test('a time in another layout is shown as it came, and is not used for order', async t => {
  const { topic, payload } = reporter.online(device, false)
  const found = only(read({ topic, payload: { ...payload, create_time: '20/11/2026 14:32' }, id: '1' }))
  t.equal(found.at, null)
  t.equal(found.params['time'], '20/11/2026 14:32')
  const fine = only(read({ topic, payload: { ...payload, create_time: '2026-11-20T14:32:05.120456789Z' } }))
  t.match(fine, { at, params: { time: '2026-11-20 14:32:05 UTC' } }, 'any digits of the second')
  const { create_time: _, ...without } = payload as { create_time: string }
  t.notOk('time' in only(read({ topic, payload: without, id: '1' })).params)
})

t.test(
  'a device’s text becomes one line of at most 300 characters, without characters that control or reorder',
  async t => {
    const valuesOf = (text: string) =>
      only(read(reporter.event(device, 'e', { text }))).params['values'] ?? ''
    const values = valuesOf(`a\r\nBcc: x\u0000\u202egpj.exe${'y'.repeat(5000)}`)
    t.match(values, /^text: a Bcc: x gpj\.exey+…$/)
    t.equal(values.length, 300)
    t.notMatch(
      valuesOf('see https://evil.example/x'),
      /https:\/\/evil|evil\.example/,
      'nothing can be clicked',
    )
    t.equal(valuesOf(`a\u3164\u2800b${'\u0489'.repeat(99)}`), `text: a b${'\u0489'.repeat(8)}`)
  },
)
