import t from 'tap'
import { pause } from '../faults/stage.ts'
import { type Answer, mailBody, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'

let made = 0
/** A code that no other message had, so that none is a duplicate. */
const code = () => String(100_000 + (made += 1))
const sms = (rig: ServiceRig, more: Record<string, unknown> = {}) =>
  rig.post('sms', smsBody(more, { code: code() }))

function isOverQuota(answer: Answer): boolean {
  const seconds = Number(answer.headers['retry-after'])
  return answer.status === 429 && answer.errCode === 4291001 && Number.isInteger(seconds) && seconds >= 1
}

t.test('one recipient gets five codes of a kind in ten minutes, also across a restart', async t => {
  const rig = await startRig(t)
  for (let n = 0; n < 3; n += 1) t.equal((await sms(rig)).errCode, 0)
  await rig.restart()
  for (let n = 0; n < 2; n += 1) t.equal((await sms(rig)).errCode, 0)
  const sixth = await sms(rig)
  t.ok(isOverQuota(sixth), sixth.text)
  t.ok(Number(sixth.headers['retry-after']) <= 1200)
  t.notMatch(sixth.text, '138')
  await rig.restart()
  t.ok(isOverQuota(await sms(rig)), 'a restart forgives nothing')
  t.equal(rig.twilio.requests.length, 5, 'nothing was sent')
  t.equal((await sms(rig, { to: '13900139000' })).errCode, 0, 'others are not concerned')
  t.equal((await rig.post('sms', smsBody({}, { type: 4, code: code() }))).errCode, 0, 'nor other kinds')
})

t.test(
  'by default every brake is on: nobody floods one person with alarms, nor spends the account',
  async t => {
    const rig = await startRig(t, { MAX_RECIPIENTS: '1000' })
    const alarm = (n: number, to: string) =>
      rig.post(
        'email',
        mailBody({ to, subject: `Alarm ${n}` }, { type: 8, username: 'Ann', productName: `Pump ${n}` }),
      )
    const answers: Answer[] = []
    // All at once would be refused in part where the machine is busy.
    for (let n = 0; n < 130; n += 13)
      answers.push(
        ...(await Promise.all(Array.from({ length: 13 }, (_, at) => alarm(n + at, 'ann@example.com')))),
      )
    const sent = answers.filter(({ errCode }) => errCode === 0).length
    // Two hours meet in the middle of the test at worst.
    t.ok(sent >= 100 && sent <= 101, `${sent} of 130 alarms`)
    t.ok(answers.filter(isOverQuota).length >= 29)
    t.equal((await alarm(1, 'bob@example.com')).errCode, 0, 'others are told')
    const loud = () => rig.events().filter(({ event }) => event === 'near-quota')
    t.match(loud(), [{ level: 40, channel: 'email', quota: 'alarm-recipient-hour' }], 'half of it is loud')

    // Numbers of ranges of their own, as a forger makes them up.
    const to = Array.from({ length: 800 }, (_, n) => `138${String(n * 10_000 + 7).padStart(8, '0')}`).join(
      ',',
    )
    const many = await sms(rig, { to })
    t.equal(many.errCode, 0)
    // Those that found no place in memory are answered for before they are sent.
    await until(() => rig.twilio.messages.length >= 600, 'what passed')
    await pause(100)
    const passed = rig.twilio.messages.length
    t.ok(passed >= 600 && passed <= 602, `${passed} SMS of 800`)
    t.match(loud()[1], { channel: 'sms', quota: 'sms-minute' })
  },
)
