import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startProcess } from '../rigs/process.ts'
import { openRaw } from '../rigs/raw.ts'
import { NO_QUOTAS, startRig, startSinks, until } from '../rigs/service.ts'
import { countFates, createCallers, postOf } from './callers.ts'

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

t.test('a process that has just started answers 500 at once: it takes them, or refuses', async t => {
  const { settings, twilio } = await startSinks(t)
  const { publicUrl } = await startProcess(t, { ...settings, ...NO_QUOTAS })
  const callers = createCallers({ url: publicUrl, connections: 'new', patienceMs: 600_000 })
  t.teardown(callers.close)
  const fates = countFates(await Promise.all(Array.from({ length: 500 }, callers.callOnce)))
  const { 0: zero = 0, 5031002: refused = 0 } = fates
  t.comment(fates)
  t.equal(zero + refused, 500, 'nobody is left waiting or hung up on')
  t.ok(zero >= 100, `${zero} are taken`)
  const recipients = () => new Set(twilio.messages.map(each => each.to)).size
  await until(() => recipients() >= zero, 'what was taken is delivered')
})
