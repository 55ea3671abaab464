import t from 'tap'
import { mailBody } from '../rigs/service.ts'
import { every, openUnreachable } from './scopes.ts'
import { pause } from './stage.ts'

/** One fault stays where it belongs, on the running service: beside it a second one that meets no fault. */

t.test('relaying denied for eight domains, one a second: no other mail waits', async t => {
  const { disturbed, undisturbed } = await openUnreachable(t, 21612)
  disturbed.smtp.act = ({ step, line }) =>
    step === 'RCPT' && line.includes('.test') ? { is: 'say', reply: '550 5.7.1 relaying denied' } : undefined
  let sent = 0
  const later: Promise<number>[] = []
  await every(1000, 20_000, () => {
    sent += 1
    const refused = mailBody(
      { to: `ann@domain${sent % 8}.test` },
      { type: sent % 2 === 0 ? 3 : 5, code: `${sent}` },
    )
    void disturbed.post('email', refused)
    const good = mailBody({ to: `ann${sent}@example.com` })
    // Two that are sent together meet the same hiccups of the machine.
    const both = Promise.all([disturbed.post('email', good), undisturbed.post('email', good)])
    later.push(both.then(([ours, usual]) => ours.ms - usual.ms))
  })
  const longest = Math.max(...(await Promise.all(later)))
  t.ok(longest < 1000, `${longest} ms later than beside no fault`)
  await pause(100)
  t.equal(disturbed.smtp.mails.length, 20)
  t.notOk(disturbed.events().some(({ event }) => event === 'breaker'))
})

t.test('numbers that Twilio refuses, however many, delay nobody else', async t => {
  const codes = [21612, 30007, 30034, 21606, 39999] as const
  const { sendGood, sendRefused, judge, disturbed } = await openUnreachable(t, ...codes)
  await Promise.all([every(100, 2500, sendRefused), every(125, 2500, sendGood)])
  await judge(t)
  t.equal(disturbed.twilio.messages.length, 20, 'all good codes were sent')
  t.notOk(disturbed.events().some(each => each['event'] === 'breaker'))
})
