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
  for (const [to, area_code] of [
    ['+86 138-0013-8000', null],
    ['008613800138000', null],
    ['8613800138000', '86'],
    ['013800138000', '0086'],
    ['+86 (0)138.0013.8000', '+86'],
    [13_800_138_000, 86],
  ])
    t.ok(isOverQuota(await sms(rig, { to, area_code })), `however it is written: ${to}`)
  t.equal(rig.twilio.requests.length, 5, 'nothing was sent')
  t.equal((await sms(rig, { to: '13900139000' })).errCode, 0, 'others are not concerned')
  t.equal((await rig.post('sms', smsBody({}, { type: 4, code: code() }))).errCode, 0, 'nor other kinds')
})

t.test('one mailbox has one quota, however its provider lets it be written', async t => {
  const rig = await startRig(t)
  const to = (address: string) =>
    rig.post('email', mailBody({ to: address }, { url: `https://x.test/${code()}` }))
  const written = ['annalee', 'anna.lee', 'a.n.n.a.l.e.e', 'Anna.Lee+1', 'annalee+2'].map(
    each => `${each}@gmail.com`,
  )
  for (const each of written) t.equal((await to(each)).errCode, 0, each)
  for (const each of ['an.nalee@googlemail.com', 'annalee+3@gmail.com'])
    t.ok(isOverQuota(await to(each)), each)
  t.equal((await to('anna.lee@example.com')).errCode, 0, 'dots count elsewhere')
  t.same(
    rig.smtp.mails.slice(0, 5).map(mail => mail.to[0]),
    written,
    'and each goes to the address as it was given',
  )
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

/** A sign-up by its link, to each of these addresses. */
const signUp = (rig: ServiceRig, to: readonly string[]) =>
  rig.post('email', mailBody({ to: to.join() }, { type: 1, url: `https://www.example.com/?${code()}` }))
const people = (domain: (n: number) => string, count: number) =>
  Array.from({ length: count }, (_, n) => `person${(made += 1)}@${domain(n)}`)

t.test('a domain gets two hundred sign-up mails in an hour to addresses that are new', async t => {
  const rig = await startRig(t, { MAX_RECIPIENTS: '1000', ANSWER_WITHIN_MS: '200' })
  const flood = await signUp(
    rig,
    people(n => (n % 2 === 0 ? 'catch-all.example' : `s${n}.catch-all.example`), 600),
  )
  t.equal(flood.errCode, 0)
  // Two hours may meet in the middle of the test.
  const refused = Number(/^(\d+) of 600 recipients refused$/.exec(flood.errMsg)?.[1])
  t.ok(refused >= 398 && refused <= 400, flood.errMsg)
  t.ok(
    isOverQuota(
      await signUp(
        rig,
        people(() => 'x.catch-all.example', 1),
      ),
    ),
  )
  t.match(
    rig.events().filter(({ event }) => event === 'near-quota' || event === 'over-quota'),
    [
      { event: 'near-quota', level: 40, channel: 'email', quota: 'signup-domain-hour' },
      {
        event: 'over-quota',
        to: /^p\*\*\*@.*catch-all\.example$/,
        level: 40,
        channel: 'email',
        quota: 'signup-domain-hour',
      },
    ],
  )
  t.equal(
    (
      await signUp(
        rig,
        people(() => 'other.example', 50),
      )
    ).errMsg,
    '',
    'other domains are not concerned',
  )
  t.equal(
    (
      await signUp(
        rig,
        people(() => 'gmail.com', 300),
      )
    ).errMsg,
    '',
    'nor is a large mailbox provider',
  )
  const metrics = await (await fetch(`${rig.service().adminUrl}/metrics`)).text()
  t.match(
    metrics,
    /callback_courier_over_quota_total\{channel="email",quota="signup-domain-hour"\} (39[89]|40[01])\n/,
  )
  const overview = await (await fetch(`${rig.service().adminUrl}/console`)).text()
  t.match(overview, 'The quota signup-domain-hour holds mails back')
})

t.test('a flood of sign-ups to a domain refuses nobody who is known, and no recovery', async t => {
  const rig = await startRig(t, { MAX_RECIPIENTS: '1000', QUOTAS: 'signup-domain-hour=5' })
  const mail = (to: string, params: object) => rig.post('email', mailBody({ to }, { url: null, ...params }))
  t.equal((await mail('ann@company.example', { type: 6, code: code() })).errCode, 0)
  await until(() => rig.smtp.mails.length === 1, 'she took a mail')
  await signUp(
    rig,
    people(() => 'company.example', 20),
  )
  t.ok(isOverQuota(await signUp(rig, ['new@company.example'])))
  t.equal((await signUp(rig, ['ann@company.example'])).errCode, 0, 'she is known')
  t.equal(
    (await mail('bob@company.example', { type: 6, code: code() })).errCode,
    0,
    'he recovers his password',
  )
  t.equal((await mail('cid@company.example', { type: 3, code: code() })).errCode, 0)
  t.equal((await mail('dan@company.example', { type: 8, username: 'Dan' })).errCode, 0)
  await rig.restart()
  t.equal((await signUp(rig, ['ann@company.example'])).errCode, 0, 'after a restart, too')
})

t.test('a flood over a quota is one line of the log a minute, not one a request', async t => {
  const rig = await startRig(t)
  for (let n = 0; n < 5; n += 1) await sms(rig)
  for (let n = 0; n < 100; n += 1) t.ok(isOverQuota(await sms(rig)))
  const lines = rig.events().filter(line => line['event'] === 'over-quota' || line['err_code'] === 4291001)
  t.match(lines, [{ quota: 'recipient-10m', channel: 'sms', kind: 'registration-code' }])
  t.equal(lines.length, 1)
  t.notMatch(rig.log.join(''), /138\d{8}/)
})
