import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { Agent, request } from 'undici'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import type { AttackName, AttackOrder } from '../rigs/attacker.ts'
import { AS_IN_THE_IMAGE, type ServiceProcess, startProcess } from '../rigs/process.ts'
import { CORP_ID, NO_QUOTAS, SMS_TOKEN, smsBody, startSinks } from '../rigs/service.ts'

const ATTACKS: readonly AttackName[] = [
  'slow heads',
  'slow bodies',
  'idle sockets',
  'half-open handshakes',
  'pipelined garbage',
  'pipelined requests',
  'wrong keys',
  'wrong keys by POST',
  'endless bodies',
  'new connections',
]
/**
 * Lines of the log that an attack may cause: sixty refused callbacks a minute, some lines of strangers a minute, and a
 * minute may end meanwhile. The attacks make thousands of requests.
 */
const MOST_LINES = 150

/** Attacks that come once more, after which memory is looked at again. */
const AGAIN: readonly AttackName[] = ['idle sockets', 'pipelined requests', 'wrong keys', 'endless bodies']
/** How long good callbacks are sent beside an attack, ms. */
const PROBE_MS = 1000
/** A good callback's answer time beside an attack, ms, of 99 in 100. */
const P99_MS = 200

const { current } = callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN })
const path = `/callback/${CORP_ID}/${current}/sms`
let made = 0

/** Sends good callbacks for a while, three at a time, most over a kept connection, some over a new one. */
async function probe(
  service: ServiceProcess,
  ca: string,
): Promise<{ readonly p99: number; readonly count: number }> {
  const times: number[] = []
  const end = performance.now() + PROBE_MS
  await Promise.all([1, 2, 3].map(() => probeInTurn(service, ca, end, times)))
  times.sort((a, b) => a - b)
  return { p99: times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY, count: times.length }
}

async function probeInTurn(service: ServiceProcess, ca: string, end: number, times: number[]): Promise<void> {
  const kept = new Agent({ connect: { ca }, connections: 1 })
  for (let n = 0; performance.now() < end; n += 1) {
    const fresh = n % 10 === 9
    const dispatcher = fresh ? new Agent({ connect: { ca } }) : kept
    const began = performance.now()
    const { statusCode, body } = await request(`${service.publicUrl}${path}`, {
      dispatcher,
      method: 'POST',
      body: JSON.stringify(smsBody({}, { code: String(100_000 + (made += 1)) })),
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`a good callback was answered ${statusCode}`)
    times.push(performance.now() - began)
    if (fresh) await dispatcher.close()
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await kept.destroy()
}

async function under<T>(order: AttackOrder, act: () => Promise<T>): Promise<T> {
  const worker = new Worker(new URL('../rigs/attacker.ts', import.meta.url), { workerData: order })
  const gone = new Promise(resolve => worker.once('exit', resolve))
  try {
    // What a handshake costs is not what an open connection does.
    await once(worker, 'message')
    return await act()
  } finally {
    worker.postMessage('end', [])
    await gone
  }
}

async function besideBusyThread<T>(act: () => Promise<T>): Promise<T> {
  const worker = new Worker('for (;;);', { eval: true })
  try {
    return await act()
  } finally {
    await worker.terminate()
  }
}

/** Whether a line of the log is of anything but a good callback and its message. */
function isNoise(line: string): boolean {
  return line !== '' && !/"event":"(?:callback".*"err_code":0,|final".*"state":"sent")/.test(line)
}

t.test('a good callback is answered within 200 ms beside each of ten attacks', async t => {
  const { settings, ca } = await startSinks(t)
  const service = await startProcess(t, { ...settings, ...NO_QUOTAS, ...AS_IN_THE_IMAGE })
  const noise = () => service.stdout().split('\n').filter(isNoise).length
  const beside = (name: AttackName) => under({ name, url: service.publicUrl, path }, () => probe(service, ca))
  await probe(service, ca)
  const atRest = service.memory()
  let most = 0
  for (const name of ATTACKS) {
    const before = noise()
    let { p99, count: sent } = await beside(name)
    let allowed = P99_MS
    // What other work on the machine costs is not the attack's, nor is what the attacker itself computes: that is
    // measured beside it, with a thread that attacks nobody and never rests in the attacker's place.
    for (let tries = 1; tries < 5 && p99 >= allowed; tries += 1) {
      const quiet = await besideBusyThread(() => probe(service, ca))
      const again = await beside(name)
      p99 = again.p99
      allowed = P99_MS + quiet.p99
      sent += quiet.count + again.count
    }
    t.ok(p99 < allowed, `${name}: ${Math.round(p99)} ms, allowed ${Math.round(allowed)} ms`)
    const grown = noise() - before
    t.ok(grown <= MOST_LINES, `${name}: ${grown} lines of the log`)
    most = Math.max(most, service.memory())
    t.comment(`${name}: p99 ${p99.toFixed(1)} ms, ${sent} callbacks, ${service.memory().toFixed(0)} MB`)
  }
  t.equal(service.child.exitCode, null, 'it still runs')
  t.equal(service.stderr(), '')
  // What is kept for good grows each time; what the collector has not looked at yet does not.
  let after = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 3 && after >= most * 1.1 + 20; tries += 1) {
    for (const name of AGAIN) await beside(name)
    after = service.memory()
  }
  const megabytes = `${Math.round(atRest)} MB, at most ${Math.round(most)} MB, and ${Math.round(after)} MB after some again`
  t.ok(most < 512, megabytes)
  t.ok(after < most * 1.1 + 20, megabytes)
})
