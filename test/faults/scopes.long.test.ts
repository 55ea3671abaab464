import t, { type Test } from 'tap'
import { mailBody, NO_QUOTAS, smsBody, startRig } from '../rigs/service.ts'
import { pause } from './stage.ts'

/** One fault stays where it belongs, on the running service: beside it a second one that meets no fault. */
async function openTwins(t: Test) {
  // The answer is the carrier's verdict, and no time limit of ours.
  const open = () => startRig(t, { ...NO_QUOTAS, ANSWER_WITHIN_MS: '10000' })
  const [disturbed, undisturbed] = [await open(), await open()]
  const later: Promise<number>[] = []
  return {
    disturbed,
    /** Sends both the same at once: then they meet the same hiccups of the machine. */
    send(channel: 'email' | 'sms', body: object) {
      const both = Promise.all([disturbed.post(channel, body), undisturbed.post(channel, body)])
      later.push(both.then(([ours, usual]) => (ours.errCode === 0 ? ours.ms - usual.ms : Infinity)))
    },
    async judge() {
      const longest = Math.max(...(await Promise.all(later)))
      t.ok(longest < 1000, `${longest} ms later than beside no fault`)
      t.notOk(disturbed.events().some(({ event }) => event === 'breaker'))
    },
  }
}

t.test('relaying denied for eight domains, one a second: no other mail waits', async t => {
  const { disturbed, send, judge } = await openTwins(t)
  disturbed.smtp.act = ({ step, line }) =>
    step === 'RCPT' && line.includes('.test') ? { is: 'say', reply: '550 5.7.1 relaying denied' } : undefined
  for (let n = 1; n <= 20; n += 1) {
    const type = n % 2 === 0 ? 3 : 5
    void disturbed.post('email', mailBody({ to: `ann@domain${n % 8}.test` }, { type, code: `${n}` }))
    send('email', mailBody({ to: `ann${n}@example.com` }))
    await pause(1000)
  }
  await judge()
  t.equal(disturbed.smtp.mails.length, 20)
})

t.test('numbers that Twilio refuses, however many, delay nobody else', async t => {
  const { disturbed, send, judge } = await openTwins(t)
  const codes = [21612, 30007, 30034, 21606, 39999]
  disturbed.twilio.fault = ({ method, form }) => {
    if (method !== 'POST' || form['To']?.startsWith('+86139') !== true) return undefined
    const code = codes[Number(form['To'].slice(-4)) % codes.length]
    return { is: 'answer', status: 400, body: JSON.stringify({ code, message: 'no', status: 400 }) }
  }
  for (let n = 1; n <= 25; n += 1) {
    const number = String(n).padStart(8, '0')
    void disturbed.post('sms', smsBody({ to: `139${number}` }, { type: n % 2 === 0 ? 2 : 4 }))
    send('sms', smsBody({ to: `137${number}` }, { type: 4 }))
    await pause(100)
  }
  await judge()
  t.equal(disturbed.twilio.messages.length, 25, 'all good codes were sent')
})
