import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DEVICES, RULES } from '../../sandbox/emulator/device-simulator.ts'
import { quote } from '../../src/language/sentence.ts'
import { type Acceptance, type Accepted, BacklogFull, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { inZone } from '../rigs/in-zone.ts'
import { until } from '../rigs/until.ts'
import { ann, bob, MINUTE, messageOf, type RigOptions, rig, row } from './rig.ts'

const [device, second, other] = DEVICES
const [rule, door] = RULES
if (!device || !second || !other || !rule || !door) throw new Error('no devices')

/** A store that takes messages once its gate is opened. */
function heldStore() {
  const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const between: RigOptions['between'] = outbox => ({
    async accept(messages) {
      entered.resolve()
      await gate.promise
      return outbox.accept(messages)
    },
  })
  return { entered, gate, between }
}

t.test('an alarm goes to everybody on its row, as mail and as SMS, with its words', async t => {
  inZone(t, 'Asia/Shanghai')
  const { take, stored, reporter, woken, outbox, events } = await rig(t, {
    rows: [row({ recipients: [ann, bob], locale: 'zh-CN' })],
  })
  await take(reporter.alert(device, true, { rule, current: -11.5 }))
  const views = await stored()
  const stands = { kind: 'device-alert', purpose: 'alarm', state: 'queued' }
  t.match(views, [
    { ...stands, channel: 'email', maskedRecipient: 'a***@example.com' },
    { ...stands, channel: 'sms', maskedRecipient: '+86*******8000' },
  ])
  t.same(new Set(woken), new Set(['email', 'sms']))
  const { messages } = await outbox().claim('email', 1, MINUTE)
  const params = { device: String(device.id), product: device.productId, current: '-11.5' }
  const time = /^[-\d]+ [:\d]+ \+08:00$/
  t.match(messages, [
    {
      recipient: 'ann@example.com',
      content: { words: 'ours', locale: 'zh-CN', params: { ...params, condition: rule.describe, time } },
    },
  ])
  const [mail, sms] = views.map(({ id }) => id)
  const told = { type: 'alert-sent', kind: 'device-alert', device: '1144502133' }
  t.same(events, [
    { ...told, id: mail, channel: 'email', to: 'a***@example.com' },
    { ...told, id: sms, channel: 'sms', to: '+86*******8000' },
  ])
})

t.test('rows choose by topic and product; two rows do not notify a recipient twice', async t => {
  const { take, notifications, reporter } = await rig(t, {
    rows: [
      row({ product: other.productId, recipients: [bob] }),
      row({ product: device.productId }),
      row({ recipients: [ann] }),
      row({ source: 'state', recipients: [bob] }),
    ],
  })
  await take(
    reporter.alert(device, true, { rule }),
    reporter.alert(other, true, { rule }),
    reporter.online(device, false),
    reporter.event(device, 'door', { open: 1 }),
    reporter.attributes(device, { temperature: 3 }),
  )
  t.same(await notifications(), [
    'device-alert to a***@example.com',
    'device-alert to +86*******8000',
    'device-alert to a***@example.com',
    'device-offline to +86*******8000',
  ])
})

t.test('the recovery goes to those who got the alarm, and only once', async t => {
  const { take, notifications, reporter, clock, deliver, why } = await rig(t, {
    rows: [row({ recipients: [ann, bob] })],
  })
  await take(reporter.alert(device, false, { rule }), reporter.alert(second, false, { rule }))
  t.same(await notifications(), [], 'nobody got an alarm')
  clock.advance(1)
  await take(reporter.alert(device, true, { rule }))
  await notifications()
  await deliver()
  clock.advance(MINUTE)
  await take(reporter.alert(device, false, { rule }), reporter.alert(device, false, { rule }))
  t.same(await notifications(), [
    'device-alert to a***@example.com',
    'device-alert to +86*******8000',
    'device-recovered to a***@example.com',
    'device-recovered to +86*******8000',
  ])
  t.same(why(), Array(6).fill('not-alarmed'))
})

t.test('an alarm that was not sent has no recovery', async t => {
  const { take, notifications, reporter, clock } = await rig(t)
  const both = [reporter.alert(device, true, { rule }), reporter.alert(device, false, { rule })]
  await take(...both, reporter.alert(second, true, { rule }))
  clock.advance(MINUTE)
  await take(reporter.alert(device, true, { rule }), reporter.alert(device, false, { rule }))
  t.same(
    (await notifications()).map(each => each.split(' ')[0]),
    ['device-alert', 'device-recovered', 'device-alert'],
  )
})

t.test('an alarm that was not delivered has no recovery', async t => {
  for (const [end, kinds] of [
    ['sent', ['device-alert', 'device-recovered']],
    ['unknown', ['device-alert', 'device-recovered']],
    ['refused', ['device-alert']],
    ['expired', ['device-alert']],
    ['held', ['device-alert']],
  ] as const) {
    const { take, stored, reporter, clock, deliver } = await rig(t)
    await take(reporter.alert(device, true, { rule }))
    await stored()
    await deliver(end)
    clock.advance(MINUTE)
    await take(reporter.alert(device, false, { rule }))
    clock.advance(10 * MINUTE)
    await take(reporter.alert(device, true, { rule }))
    const found = (await stored()).map(({ kind }) => kind)
    t.same(found, [...kinds, 'device-alert'], `${end}, and the next alarm is sent`)
  }
})

t.test(
  'the same message again is sent once: at once, after its delivery, hours later, after a restart',
  async t => {
    const { take, notifications, reporter, clock, deliver, restart } = await rig(t, {
      rows: [row({ everyMs: 0 })],
    })
    const alarm = reporter.alert(device, true, { rule })
    await take(alarm, alarm)
    await take(alarm)
    t.equal((await notifications()).length, 1)
    await deliver()
    await take(alarm)
    clock.advance(60 * MINUTE)
    await take(alarm)
    await restart()
    clock.advance(60 * MINUTE)
    await take(alarm)
    t.equal((await notifications()).length, 1)
    await take(reporter.alert(device, true, { rule }))
    t.equal((await notifications()).length, 2, 'another one is sent')
  },
)

t.test(
  'an alarm that somebody cancelled has no recovery; one that comes twice is said to be repeated',
  async t => {
    const { take, notifications, stored, reporter, clock, outbox, why } = await rig(t, {
      rows: [row({ everyMs: 0 })],
    })
    const alarm = reporter.alert(device, true, { rule })
    await take(alarm)
    await take(alarm)
    t.equal((await notifications()).length, 1)
    t.same(why(), ['repeated'])
    const [sent] = await stored()
    t.ok(await outbox().actions.cancelMessage(sent?.id ?? ''))
    clock.advance(MINUTE)
    await take(reporter.alert(device, false, { rule }))
    t.equal((await notifications()).length, 1)
    t.same(why(), ['repeated', 'not-alarmed'])
  },
)

t.test('an alarm from before a recovery that was sent is not sent', async t => {
  const { take, notifications, reporter, clock, why } = await rig(t, { rows: [row({ everyMs: 0 })] })
  const alarm = () => reporter.alert(device, true, { rule })
  const first = alarm()
  clock.advance(1000)
  const late = alarm()
  clock.advance(1000)
  await take(first, reporter.alert(device, false, { rule }), late)
  t.same(await notifications(), ['device-alert to a***@example.com', 'device-recovered to a***@example.com'])
  t.same(why(), ['outdated'])
})

t.test('a message that comes while the store takes another one is not lost', async t => {
  const store = heldStore()
  const { take, notifier, notifications, reporter } = await rig(t, store)
  await take(reporter.alert(device, true, { rule }))
  await store.entered.promise
  await take(reporter.alert(device, false, { rule }))
  store.gate.resolve()
  await notifier().stop()
  t.same(await notifications(), ['device-alert to a***@example.com', 'device-recovered to a***@example.com'])
})

t.test('of two rows that name a recipient the first one counts', async t => {
  const { take, notifications, reporter, clock } = await rig(t, {
    rows: [row({ everyMs: 0 }), row({ everyMs: 10 * MINUTE })],
  })
  await take(reporter.alert(device, true, { rule }))
  clock.advance(MINUTE)
  await take(reporter.alert(device, true, { rule }))
  t.equal((await notifications()).length, 2)
})

t.test('an alert over a quota counts as not sent', async t => {
  const charge = { quota: 'email-minute', bucket: 'all', windowMs: MINUTE, limit: 1 }
  const { take, notifications, reporter, events, clock } = await rig(t, { charges: () => [charge] })
  await take(reporter.alert(device, true, { rule }), reporter.alert(second, true, { rule }))
  t.equal((await notifications()).length, 1)
  t.match(events, [{ type: 'alert-sent' }, { type: 'over-quota', quota: 'email-minute' }])
  await take(reporter.alert(second, false, { rule }))
  t.equal((await notifications()).length, 1, 'no recovery')
  clock.advance(2 * MINUTE)
  await take(reporter.alert(second, true, { rule }))
  t.equal((await notifications()).length, 2, 'nor does it keep quiet')
})

t.test('an alert is given to the store whole, and is worth sending for a day', async t => {
  inZone(t, 'Asia/Shanghai')
  const charged: unknown[] = []
  const accepted: Acceptance[] = []
  const answers: Accepted[] = [{ is: 'bounced' }, { is: 'refused' }, { is: 'held' }]
  const { take, stored, reporter, why, events, clock } = await rig(t, {
    rows: [row({ recipients: [bob], locale: 'zh-CN' })],
    charges: ({ purpose }, country) => {
      charged.push([purpose, country])
      return []
    },
    between: () => ({
      async accept(all) {
        accepted.push(...all)
        return answers.splice(0, 1)
      },
    }),
  })
  await take(reporter.alert(device, true, { rule, current: -11.5, startedAt: clock.now() - 300_000 }))
  await stored()
  const unsent = { type: 'alert-suppressed', channel: 'sms', kind: 'device-alert' }
  t.same(events, [{ ...unsent, why: 'bounced' }], 'it says why it was not sent')
  await take(reporter.alert(device, true, { rule }))
  await stored()
  t.equal(events.length, 1, 'the store itself says what it refused')
  await take(reporter.alert(device, true, { rule }))
  await stored()
  t.same(why(), ['bounced', 'held'])
  t.same(charged[0], ['alarm', 'CN'])
  const given = JSON.stringify(accepted[0], null, 2).replaceAll(accepted[0]?.message.id ?? '', 'ID')
  t.equal(given, readFileSync(join(import.meta.dirname, '../fixtures/alert.txt'), 'utf8').trimEnd())
})

t.test('an alert that cannot be rendered is reported, and holds nothing up', async t => {
  const { take, notifications, reporter, events } = await rig(t, {
    render: message => {
      throw new TypeError(`no words for ${message.kind}`)
    },
  })
  await take(reporter.alert(device, true, { rule }))
  t.same(await notifications(), [])
  t.match(events, [{ type: 'unrenderable', kind: 'device-alert', error: TypeError }])
})

t.test('alerts wait while the store cannot take them; then each is sent once', async t => {
  let failures = 5
  const { take, notifications, reporter, events } = await rig(t, {
    between: outbox => ({
      accept: messages => {
        failures -= 1
        if (failures === 0) return Promise.reject(new BacklogFull())
        return failures > 0
          ? Promise.reject(new StoreUnavailable(quote('disk full')))
          : outbox.accept(messages)
      },
    }),
  })
  await take(reporter.alert(device, true, { rule }), reporter.alert(second, true, { rule }))
  await until(() => events.some(({ type }) => type === 'alert-sent'), 'they are stored')
  t.equal((await notifications()).length, 2)
  const failed = events.flatMap(each => (each.type === 'store-failed' ? [each.doing] : []))
  t.same(failed, Array(5).fill('alerts'))
})

t.test('a storm slows the platform down instead of filling memory', async t => {
  const store = heldStore()
  const { notifier, notifications, reporter } = await rig(t, { rows: [row({ everyMs: 0 })], ...store })
  const waits: (void | Promise<void>)[] = []
  for (let n = 0; n < 600; n += 1)
    waits.push(notifier().take(messageOf(reporter.alert(device, true, { rule }))))
  const firstToWait = waits.findIndex(each => each !== undefined)
  t.equal(firstToWait, 499, 'taken at once; then it asks to wait')
  t.ok(waits.slice(499).every(each => each instanceof Promise))
  let room = false
  void Promise.resolve(waits.at(-1)).then(() => (room = true))
  await new Promise(resolve => setTimeout(resolve, 50))
  t.notOk(room)
  store.gate.resolve()
  for (const each of waits) await each
  t.equal((await notifications()).length, 600)
})

t.test('the end stores what came by then, and does not wait for a store that is gone', async t => {
  const sizes: number[] = []
  const { take, notifications, reporter } = await rig(t, {
    between: outbox => ({
      accept(messages) {
        sizes.push(messages.length)
        return outbox.accept(messages)
      },
    }),
  })
  await take(...Array.from({ length: 250 }, (_, id) => reporter.alert({ ...device, id }, true, { rule })))
  t.equal((await notifications()).length, 250)
  t.same(sizes, [100, 100, 50], 'a hundred a commit')

  const gone = await rig(t, {
    retryMs: 3_600_000,
    between: () => ({ accept: () => Promise.reject(new StoreUnavailable(quote('gone'))) }),
  })
  void gone.take(gone.reporter.alert(device, true, { rule }))
  await until(() => gone.events.length > 0, 'a try has failed')
  await gone.notifier().stop()
})
