import t from 'tap'
import type { EventOf } from '../../src/events/events.ts'
import { createReportedFaults } from '../../src/reports/reported-faults.ts'
import { inEnglish } from '../language/english.ts'

const HOUR = 60 * 60_000

/** Faults by what is reported, in simulated time. */
function begin() {
  let now = 0
  const told: string[] = []
  const reported = createReportedFaults({
    clock: { now: () => now },
    domainOf: masked => masked.slice(masked.lastIndexOf('@') + 1),
    onFault: (channel, provider, { is, fault }) =>
      told.push([channel, provider, is, ...Object.values(fault)].join(' ')),
  })
  /** A provider reports on a message. */
  function reportOn(status: string, more: Partial<EventOf<'receipt'>>): void {
    const about = { channel: 'sms', provider: 'a', providerId: 'x', status, errorCode: null } as const
    reported.note({ type: 'receipt', ...about, result: 'recorded', ...more })
  }
  const advance = (ms: number): void => {
    now += ms
  }
  return { reported, reportOn, advance, told }
}

t.test('what reports say is ours to mend is a fault from the first one on, until messages arrive', t => {
  const { reported, reportOn, advance, told } = begin()
  const OURS = { verdict: 'ours', scope: 'sender', reason: 'not registered' } as const
  const report = (
    masked: string,
    ours: boolean,
    kind = 'login-code',
    more: Partial<EventOf<'receipt'>> = {},
  ) =>
    reportOn(ours ? 'undelivered' : 'delivered', {
      ...(ours && { errorCode: '30034', fault: OURS }),
      masked,
      kind,
      ...more,
    })
  report('+12*******1111', true, 'login-code', { result: 'stale' })
  report('+12*******1111', true, 'login-code', { status: 'complained' })
  t.same(reported.list('a'), [], 'neither a stale one nor a complaint says anything')
  for (const fault of [
    { verdict: 'recipient', scope: 'recipient', reason: null },
    { verdict: 'limit', scope: 'recipient', reason: null },
    { verdict: 'later', scope: 'transport', reason: null },
  ] as const)
    report('+12*******1111', true, 'login-code', { fault })
  t.same(reported.list('a'), [], 'nor what is not ours')

  report('+12*******1111', true)
  t.match(inEnglish(reported.list('a')), [
    { scope: 'sender', name: '30034', recipients: 1, reply: 'not registered' },
  ])
  t.same(reported.list('b'), [])
  report('+12*******1111', true)
  t.match(reported.list('a'), [{ recipients: 1 }], 'the same one again')
  report('+13*******2222', true, 'forgotten-password')
  t.same(
    reported.list('a').map(({ recipients }) => recipients),
    [2],
    'a sender is one for all kinds',
  )
  for (let n = 0; n < 20; n += 1) report(`+${n % 2 === 0 ? 7 : 86}*******${1000 + n}`, false)
  t.equal(reported.list('a').length, 1, 'another country’s arrive: the sender is another one there')
  for (const ours of [false, false, true, false, false, false]) report('+12*******1111', ours)
  t.equal(reported.list('a').length, 1, 'fewer in a row than did not')
  report('+12*******1111', false, 'login-code', { status: 'read' })
  t.same(reported.list('a'), [])
  const fault = 'sender 30034 login-code 0  30034 not registered'
  t.same(told, [`sms a begun ${fault} 1`, `sms a over ${fault}`])
  for (const [refused, arrive] of [
    [1, 3],
    [20, 10],
  ] as const) {
    for (let n = 0; n < refused; n += 1) report('+12*******1111', true)
    for (let n = 1; n < arrive; n += 1) report('+14*******3333', false, 'forgotten-password')
    t.equal(reported.list('a').length, 1, `${refused} did not arrive`)
    report('+14*******3333', false)
    t.same(reported.list('a'), [], `${arrive} of the same country arrived`)
  }

  const TEMPLATE = { verdict: 'ours', scope: 'template', reason: null } as const
  report('+86*******1000', true, 'forgotten-password', { errorCode: 'T', fault: TEMPLATE })
  report('+86*******1000', true, 'login-code', { errorCode: 'M', fault: { ...TEMPLATE, scope: 'message' } })
  for (let n = 0; n < 3; n += 1) report('+85*******1000', false)
  t.equal(reported.list('a').length, 2, 'in another country')
  for (let n = 0; n < 3; n += 1) report('+86*******1000', false)
  t.match(reported.list('a'), [{ name: 'T', kind: 'forgotten-password' }], 'another kind’s arrive')
  advance(23 * HOUR)
  report('+86*******1000', true, 'forgotten-password', { errorCode: 'T', fault: TEMPLATE })
  report('+86*******1000', true, 'file', { errorCode: 'T', fault: TEMPLATE })
  report('+86*******1000', true, '', { errorCode: null, fault: { ...OURS, reason: null } })
  advance(24 * HOUR)
  t.match(
    inEnglish(reported.list('a').map(({ name, kind, reply }) => [name, kind, String(reply)].join())),
    ['T,forgotten-password,', 'T,file,', 'undelivered,,'],
    'it was said again',
  )
  advance(1)
  t.same(reported.list('a'), [], 'nobody has said it for a day')
  for (let n = 0; n < 200; n += 1) report('+86*******1000', true, 'login-code', { errorCode: `E${n}` })
  t.equal(reported.list('a').length, 100, 'and so many at most')
  for (let n = 0; n < 200; n += 1) report(`+86*******${n}`, true, 'login-code', { errorCode: 'E0' })
  t.match(reported.list('a')[0], { name: 'E0', recipients: 100 })
  t.end()
})

t.test('a fault of ours by mails that came back takes five recipients of two domains within a day', t => {
  const OURS = { verdict: 'ours', scope: 'message', reason: 'refused by policy' } as const
  const beginMail = () => {
    const rig = begin()
    const comeBack = (recipient: string, domain = 'example.com', errorCode = '5.7.1') =>
      rig.reportOn('undelivered', {
        channel: 'email',
        provider: 'smtp',
        errorCode,
        fault: OURS,
        masked: `a***@${domain}`,
        recipient,
      })
    const known = () => rig.reported.list('smtp').map(({ name, recipients }) => [name, recipients])
    return { ...rig, comeBack, known }
  }

  const one = beginMail()
  for (let n = 0; n < 200; n += 1) one.comeBack('ann', 'example.com', `5.7.${n}`)
  for (const recipient of ['ann', 'bob', 'cid', 'dan']) one.comeBack(recipient, `${recipient}.example`)
  t.same(one.known(), [], 'four, whatever they say')
  one.comeBack('eve', 'example.com', '5.7.26')
  t.same(one.known(), [['5.7.x', 5]], 'all codes of a class are one fault')
  const fault = 'message 5.7.x  0  5.7.x refused by policy'
  t.same(one.told, [`email smtp begun ${fault} 5`])
  one.advance(25 * HOUR)
  one.comeBack('ann')
  t.same(one.known(), [], 'one alone does not keep it up')
  t.same(one.told.slice(1), [`email smtp over ${fault}`])

  const sameDomain = beginMail()
  for (let n = 0; n < 20; n += 1) sameDomain.comeBack(`r${n}`)
  t.same(sameDomain.known(), [], 'one domain')
  sameDomain.comeBack('eve', 'example.net')
  t.same(sameDomain.known(), [['5.7.x', 21]])
  sameDomain.advance(23 * HOUR)
  for (let n = 0; n < 5; n += 1) sameDomain.comeBack(`r${n}`)
  sameDomain.advance(2 * HOUR)
  t.same(sameDomain.known(), [['5.7.x', 5]], 'a fault of two domains stays one')

  const slow = beginMail()
  for (let n = 0; n < 20; n += 1) {
    slow.comeBack(`r${n}`, `${n}.example`)
    slow.advance(7 * HOUR)
  }
  t.same(slow.known(), [], 'four a day')

  const full = beginMail()
  for (let n = 0; n < 100; n += 1) full.comeBack('ann', 'example.com', `E${n}`)
  full.advance(25 * HOUR)
  t.same(full.known(), [])
  for (const each of ['a', 'b', 'c', 'd', 'e']) full.comeBack(each, `${each}.example`)
  t.same(full.known(), [['5.7.x', 5]], 'what nobody says any more leaves room')
  t.end()
})

t.test('what comes from one provider hides no fault of another', t => {
  const { reported, reportOn } = begin()
  const fault = { verdict: 'ours', scope: 'sender', reason: null } as const
  for (let n = 0; n < 200; n += 1) reportOn('undelivered', { errorCode: `E${n}`, fault })
  reportOn('undelivered', { provider: 'aliyun', errorCode: 'SIGN', fault })
  t.match(reported.list('aliyun'), [{ name: 'SIGN' }])
  for (let n = 0; n < 10; n += 1) reportOn('delivered', {})
  t.equal(reported.list('aliyun').length, 1, 'nor do messages that arrive by it end one')
  t.end()
})
