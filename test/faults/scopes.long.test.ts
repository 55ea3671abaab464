import t, { type Test } from 'tap'
import { percentile } from '../delivery/simulation.ts'
import { mailBody, NO_QUOTAS, type ServiceRig, type Settings, smsBody, startRig } from '../rigs/service.ts'
import { pause } from './stage.ts'

/** How long a carrier takes to answer, ms: so much longer than a busy machine's hiccups that a fifth more of it is seen. */
const ANSWER_MS = 500

/** The same service twice, side by side: one meets the faults of a test, and the other shows how busy the machine was. */
interface Twins {
  readonly disturbed: ServiceRig
  readonly undisturbed: ServiceRig
  /** Sends a good code to both. */
  sendGood(): void
  /** Resolves when all good codes were answered, and judges how long they took. */
  judge(t: Test): Promise<void>
}

/** @param good the body of a good code to this number */
function watchTwins(disturbed: ServiceRig, undisturbed: ServiceRig, good: (number: string) => object): Twins {
  const tooks: [Promise<number>[], Promise<number>[]] = [[], []]
  let numbers = 0
  const timed = async (rig: ServiceRig): Promise<number> => {
    const began = performance.now()
    const { errCode } = await rig.post('sms', good(`137${String(numbers).padStart(8, '0')}`))
    return errCode === 0 ? performance.now() - began : Infinity
  }
  return {
    disturbed,
    undisturbed,
    sendGood() {
      numbers += 1
      tooks[0].push(timed(disturbed))
      tooks[1].push(timed(undisturbed))
    },
    async judge(t) {
      const [ours, usual] = [await Promise.all(tooks[0]), await Promise.all(tooks[1])]
      const [p99, usualP99] = [percentile(ours, 0.99), percentile(usual, 0.99)]
      t.comment(
        `${ours.length} good codes: p50 ${percentile(ours, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms; undisturbed ${percentile(usual, 0.5).toFixed(0)} and ${usualP99.toFixed(0)} ms`,
      )
      // Two that were sent together met the same hiccups of the machine. On a busy one the work for refused codes itself takes time: as
      // much as a good code shows that nothing disturbs, some times over.
      const busyMs = percentile(usual, 0.5) - ANSWER_MS
      const later = percentile(
        ours.map((ms, n) => ms - (usual[n] ?? 0)),
        0.99,
      )
      t.ok(later <= 0.2 * usualP99 + 3 * busyMs, `p99 ${later} ms later than the undisturbed one`)
    },
  }
}

/** Settings by which the answer is the carrier's verdict, and no time limit of ours. */
const PATIENT: Settings = { ...NO_QUOTAS, ANSWER_WITHIN_MS: '10000' }

/** Twilio twice: the first refuses numbers that begin with 139, by these codes in turns. */
async function openUnreachable(t: Test, ...codes: readonly [number, ...number[]]) {
  const open = () => startRig(t, PATIENT)
  const [disturbed, undisturbed] = [await open(), await open()]
  for (const { twilio } of [disturbed, undisturbed])
    twilio.fault = ({ method, form }) => {
      if (method !== 'POST') return undefined
      if (form['To']?.startsWith('+86139') !== true) return { is: 'delay', ms: ANSWER_MS }
      const code = codes[Number(form['To'].slice(-4)) % codes.length]
      return { is: 'answer', status: 400, body: JSON.stringify({ code, message: 'no', status: 400 }) }
    }
  const good = (to: string) => smsBody({ to }, { type: 4 })
  const twins = watchTwins(disturbed, undisturbed, good)
  let sent = 0
  return {
    ...twins,
    sendRefused(): void {
      sent += 1
      const to = `139${String(sent).padStart(8, '0')}`
      void disturbed.post('sms', smsBody({ to }, { type: sent % 2 === 0 ? 2 : 4 }))
    },
  }
}

/** Calls every so many ms, for so long. */
async function every(ms: number, forMs: number, call: () => void): Promise<void> {
  const began = performance.now()
  for (let n = 0; n * ms < forMs; n += 1) {
    await pause(Math.max(0, began + n * ms - performance.now()))
    call()
  }
  await pause(Math.max(0, began + forMs - performance.now()))
}

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
