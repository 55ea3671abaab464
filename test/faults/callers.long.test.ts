import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { startProcess } from '../rigs/process.ts'
import { openRaw } from '../rigs/raw.ts'
import { CORP_ID, NO_QUOTAS, SMS_TOKEN, smsBody, startRig, startSinks } from '../rigs/service.ts'
import { createCallbacks } from './callbacks.ts'
import { openBurst } from './ending.ts'

const PATH = `/callback/${CORP_ID}/${callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN }).current}/sms`
let made = 0

/** A callback to a number of its own. */
function postOf(): string {
  made += 1
  const text = JSON.stringify(
    smsBody({ to: String(13_800_000_000 + made) }, { code: String(100_000 + made) }),
  )
  return `POST ${PATH} HTTP/1.1\r\nHost: callback\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

for (const scheme of ['http', 'https'] as const) {
  t.test(`${scheme}: who ends his side behind a request is answered`, async t => {
    const { service } = await startRig(t, scheme === 'http' ? { TLS: 'off' } : {})
    const raw = await openRaw(service().publicUrl)
    raw.socket.end(postOf())
    t.match(await raw.ended(), /^HTTP\/1\.1 200 .*\{"err_code":0,/s)
  })

  t.test(`${scheme}: who has left while the process stood still is not served`, async t => {
    const { settings, twilio } = await startSinks(t)
    const { child, publicUrl, exited } = await startProcess(t, {
      ...settings,
      ...NO_QUOTAS,
      DRAIN_SECONDS: '0',
      ...(scheme === 'http' ? { TLS: 'off' } : {}),
    })
    /** Opens a connection that is known to have been accepted: what waits in the kernel may wait unseen. */
    const open = async () => {
      const raw = await openRaw(publicUrl)
      raw.write('GET / HTTP/1.1\r\nHost: callback\r\n\r\n')
      await raw.says(/"err_code":4041001,/)
      return raw
    }
    const leaving = await Promise.all(Array.from({ length: 20 }, open))
    const staying = await Promise.all(Array.from({ length: 5 }, open))
    child.kill('SIGSTOP')
    const left = leaving.map(({ socket }) => once(socket, 'close'))
    for (const { socket } of leaving) socket.write(postOf(), () => void socket.destroy())
    for (const raw of staying) raw.write(postOf())
    await Promise.all(left)
    // Whose request waits for less than a second may be served all the same.
    await sleep(1500)
    child.kill('SIGCONT')
    for (const raw of staying) await raw.says(/"err_code":0,/)
    const last = await openRaw(publicUrl)
    last.write(postOf())
    await last.says(/"err_code":0,/)
    child.kill('SIGTERM')
    t.equal(await exited, 0)
    t.equal(twilio.messages.length, 6, 'only those who stayed, and who came after them')
  })
}

t.test(
  'a process that has just started answers 500 at once: it takes them, or refuses, and loses none',
  async t => {
    const burst = await openBurst(t, { TLS: 'off' }, { connections: 500, timeoutMs: 600_000 })
    const callbackOf = createCallbacks()
    const answers = await burst.driver.load(
      Array.from({ length: 500 }, () => callbackOf('email')),
      500,
    )
    const taken = answers.filter(({ errCode }) => errCode === 0).length
    for (const { status, errCode, retryAfter } of answers.filter(each => each.errCode !== 0))
      t.match({ status, errCode, retryAfter }, { status: 503, errCode: 5031002, retryAfter: /^\d+$/ })
    t.ok(taken >= 100, `${taken} are taken`)
    burst.running.child.kill('SIGTERM')
    t.equal(await burst.running.exited, 0)
    t.match(await burst.finish(), { answered: taken, delivered: taken, lost: 0, duplicated: 0 })
  },
)
