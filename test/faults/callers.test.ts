import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { createCpuLimit } from '../rigs/cgroup.ts'
import { startProcess } from '../rigs/process.ts'
import { openRaw } from '../rigs/raw.ts'
import { CORP_ID, NO_QUOTAS, SMS_TOKEN, smsBody, startRig, startSinks, until } from '../rigs/service.ts'
import { type CallersOptions, countFates, createCallers, postOf } from './callers.ts'
import { LONG } from './stage.ts'

const PATH = `/callback/${CORP_ID}/${callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN }).current}/sms`

let taken = 0
/** A callback to a number of its own. */
function body(): string {
  taken += 1
  return JSON.stringify(smsBody({ to: String(13_800_000_000 + taken) }, { code: String(100_000 + taken) }))
}

for (const scheme of ['http', 'https'] as const) {
  t.test(`${scheme}: who ends his side behind a request is answered`, async t => {
    const { service } = await startRig(t, scheme === 'http' ? { TLS: 'off' } : {})
    const raw = await openRaw(service().publicUrl)
    raw.socket.end(postOf(PATH, body()))
    t.match(await raw.ended(), /^HTTP\/1\.1 200 .*\{"err_code":0,/s)
  })

  t.test(`${scheme}: who has left while the process stood still is not served`, async t => {
    const { settings, twilio } = await startSinks(t)
    const { child, publicUrl } = await startProcess(t, {
      ...settings,
      ...NO_QUOTAS,
      ...(scheme === 'http' ? { TLS: 'off' } : {}),
    })
    const open = () => openRaw(publicUrl)
    const leaving = await Promise.all(Array.from({ length: 20 }, open))
    const staying = await Promise.all(Array.from({ length: 5 }, open))
    child.kill('SIGSTOP')
    for (const { socket } of leaving) socket.write(postOf(PATH, body()), () => void socket.destroy())
    for (const raw of staying) raw.write(postOf(PATH, body()))
    await sleep(1500)
    child.kill('SIGCONT')
    for (const raw of staying) t.match(await raw.says(/\{"err_code":\d+/), /"err_code":0,/)
    await sleep(300)
    t.equal(twilio.messages.length, 5, 'only those who stayed')
  })
}

t.test('a process that has just started takes 500 at once', async t => {
  const { settings } = await startSinks(t)
  const { publicUrl } = await startProcess(t, { ...settings, ...NO_QUOTAS })
  const callers = createCallers({ url: publicUrl, path: PATH, body, connections: 'new', patienceMs: 30_000 })
  t.teardown(callers.close)
  const fates = await Promise.all(Array.from({ length: 500 }, callers.callOnce))
  t.same(
    countFates(fates),
    { 0: 500 },
    `the last one after ${Math.round(Math.max(...fates.map(each => each.ms)))} ms`,
  )
})

interface Overload extends Pick<CallersOptions, 'connections'> {
  readonly scheme: 'http' | 'https'
  readonly seconds: number
}

/** Part of a core, as a small container has it. */
const CORES = 0.15

/** The short form shares its cores with other tests, and shows only that everybody is answered, many of them with 0. */
async function overload(t: Test, { scheme, connections, seconds }: Overload): Promise<void> {
  const limit = createCpuLimit(CORES)
  if (limit === null) {
    t.comment('this machine lets nobody limit the CPU')
    return
  }
  const { settings } = await startSinks(t)
  const { child, publicUrl, exited } = await limit.during(() =>
    startProcess(t, { ...settings, ...NO_QUOTAS, ...(scheme === 'http' ? { TLS: 'off' } : {}) }),
  )
  const callers = createCallers({ url: publicUrl, path: PATH, body, connections, patienceMs: 5000 })
  try {
    await callers.saturate(48, seconds / 4)
    const perSecond = await callers.saturate(48, seconds / 4)
    const fates = await callers.callAtRate(perSecond * 2, seconds)
    const ended = performance.now()
    await until(
      async () => {
        const { became, ms } = await callers.callOnce()
        return became === 0 && ms < 1000
      },
      'as before',
      2000,
    )
    const counts = countFates(fates)
    const found = `${perSecond.toFixed(0)}/s, then ${JSON.stringify(counts)}, as before after ${Math.round(performance.now() - ended)} ms`
    const { 0: zero = 0, 5031002: refused = 0 } = counts
    t.ok(zero >= (LONG ? 0.8 : 0.4) * perSecond * seconds, `answered 0: ${found}`)
    const answered = (zero + refused) / fates.length
    // Over TLS a refusal takes a handshake: where that alone is too much, a connection is closed before it.
    t.ok(answered >= (scheme === 'https' && connections === 'new' ? 0.5 : 0.98), `answered: ${found}`)
    t.ok((counts['left'] ?? 0) <= fates.length * (LONG ? 0.02 : 0.25), `left: ${found}`)
  } finally {
    callers.close()
    child.kill('SIGKILL')
    await exited
    limit.remove()
  }
}

for (const scheme of ['https', 'http'] as const)
  for (const connections of ['new', 'kept'] as const) {
    const isShort = scheme === 'https' && connections === 'new'
    t.test(
      `${scheme}, ${connections} connections: more callbacks than its share of a core can carry`,
      { skip: !LONG && !isShort },
      t => overload(t, { scheme, connections, seconds: LONG ? 20 : 4 }),
    )
  }
t.setTimeout(LONG ? 300_000 : 60_000)
