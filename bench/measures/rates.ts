import PostalMime from 'postal-mime'
import { openCallbackLoad } from '../callbacks.ts'
import { type Child, startChild, type Usage, watchUsage } from '../child.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { LoopResult } from '../loop.ts'
import { addressOf, codeOf } from '../numbered-callbacks.ts'
import type { Channel, Session } from '../session.ts'

/** Callbacks under way at once. */
const CONNECTIONS = { email: 64, sms: 200 } as const
const PACED_SECONDS = 10
/** What a service that stores, delivers and answers may add to the sink's own latency at half its rate, ms. */
const ANSWER_MS = 10
const MEMORY_MB = 200
/** About what Twilio's API takes from another continent, ms. */
const FAR_MS = 100

/** A loop, and what a message of it cost its process, µs of processor time. */
type Costed = LoopResult & { readonly cpuUs: number }
export type Baseline = (seconds: number) => Promise<Costed>

/** Callbacks a second end to end beside bare loops over the same client, memory, and answer times at half the rate. */
export async function measureEmail(session: Session): Promise<Figure[]> {
  const baseline = await startChild('./baselines/mail.ts', { SMTP_PORT: String(session.ports.email) })
  try {
    return await measure(session, 'email', async () => {
      const mail = await sampleMail(session)
      return {
        'bare nodemailer pool, composing': baselineOf(session, 'email', baseline, { how: 'composed', mail }),
        'bare nodemailer pool, raw': baselineOf(session, 'email', baseline, { how: 'raw', mail }),
      }
    })
  } finally {
    await baseline.stop()
  }
}

export async function measureSms(session: Session): Promise<Figure[]> {
  const baseline = await startChild('./baselines/sms.ts', {
    TWILIO_URL: `https://127.0.0.1:${session.ports.sms}`,
    TLS_CERT: session.certificate.cert,
  })
  const stock = baselineOf(session, 'sms', baseline, { width: CONNECTIONS.sms })
  try {
    return [
      ...(await measure(session, 'sms', async () => ({ 'bare stock twilio SDK': stock }))),
      ...(await measureFar(session, stock)),
    ]
  } finally {
    await baseline.stop()
  }
}

/** The same with a provider that takes as long to answer as a real one over the internet. */
async function measureFar(session: Session, stock: Baseline): Promise<Figure[]> {
  const service = await session.startService()
  const platform = await openCallbackLoad(session, service, 'sms', CONNECTIONS.sms)
  const [ours, theirs]: [number[], number[]] = [[], []]
  await session.sinks.sms.ask({ is: 'latency', ms: FAR_MS })
  try {
    for (let round = 0; round <= session.rounds; round++) {
      const loop = await platform.saturate(session.seconds)
      const bare = await stock(session.seconds)
      // The first warms up.
      if (round === 0) continue
      ours.push(loop.perSecond)
      theirs.push(bare.perSecond)
      session.print(`sms at ${FAR_MS} ms, ${round}: ${line('the service', loop)}; ${line('stock SDK', bare)}`)
    }
  } finally {
    await session.sinks.sms.ask({ is: 'latency', ms: 0 })
    platform.close()
    await service.stop()
  }
  return [
    figure(`sms callbacks, Twilio answers after ${FAR_MS} ms`, '/s', ours),
    figure(`bare stock twilio SDK, Twilio answers after ${FAR_MS} ms`, '/s', theirs),
    atLeast(1.7, ratio(`sms: service to stock SDK at ${FAR_MS} ms`, ours, theirs)),
  ]
}

async function measure(
  session: Session,
  channel: Channel,
  baselines: () => Promise<Readonly<Record<string, Baseline>>>,
): Promise<Figure[]> {
  const service = await session.startService()
  const platform = await openCallbackLoad(session, service, channel, CONNECTIONS[channel])
  const usage = watchUsage(service.pid)
  const sinkUsage = watchUsage(session.sinks[channel].pid)
  const ownUsage = watchUsage(process.pid)
  const ours: Costed[] = []
  const memory: number[] = []
  const theirs: Record<string, Costed[]> = {}
  try {
    await platform.saturate(Math.min(3, session.seconds))
    const others = await baselines()
    for (const run of Object.values(others)) await run(1)
    for (let round = 1; round <= session.rounds; round++) {
      for (const watched of [usage, sinkUsage, ownUsage]) watched.read()
      const loop = await platform.saturate(session.seconds)
      const used = usage.read()
      ours.push({ ...loop, cpuUs: (used.cpuMs * 1000) / loop.done })
      memory.push(used.peakMb)
      session.print(
        `${channel} ${round}: ${line('the service', loop)}; ${cores(used, sinkUsage.read(), ownUsage.read())}`,
      )
      for (const [name, run] of Object.entries(others)) {
        const bare = await run(session.seconds)
        theirs[name] = [...(theirs[name] ?? []), bare]
        session.print(`${channel} ${round}: ${line(name, bare)}; ${Math.round(bare.cpuUs)} µs of CPU each`)
      }
    }
    const rates = ours.map(({ perSecond }) => perSecond)
    const rate = figure(`${channel} callbacks`, '/s', rates)
    const paced = await platform.sendAtRate(rate.value / 2, PACED_SECONDS)
    session.print(`${channel}: ${line('the service at half its rate', paced)}`)
    return [
      rate,
      figure(
        `${channel} p50 at full rate`,
        'ms',
        ours.map(({ p50Ms }) => p50Ms),
      ),
      figure(
        `${channel} p99 at full rate`,
        'ms',
        ours.map(({ p99Ms }) => p99Ms),
      ),
      ...Object.entries(theirs).flatMap(([name, loops], i) => {
        const bare = loops.map(({ perSecond }) => perSecond)
        const compared = ratio(`${channel}: service to ${name}`, rates, bare)
        // Only the first of them is the one to reach.
        return [
          figure(name, '/s', bare),
          i ? compared : atLeast(channel === 'email' ? 1 : 1.7, compared),
          figure(
            `${name}, processor time a message`,
            'µs',
            loops.map(({ cpuUs }) => cpuUs),
          ),
        ]
      }),
      // Unlike a rate, it hardly depends on what else the machine does.
      figure(
        `${channel}: processor time of the service a callback`,
        'µs',
        ours.map(({ cpuUs }) => cpuUs),
      ),
      atMost(ANSWER_MS, figure(`${channel} p99 at half the rate`, 'ms', [paced.p99Ms])),
      figure(`${channel} p50 at half the rate`, 'ms', [paced.p50Ms]),
      atMost(MEMORY_MB, figure(`${channel}: resident memory at full rate, most`, 'MB', memory)),
    ]
  } finally {
    for (const watched of [usage, sinkUsage, ownUsage]) watched.stop()
    platform.close()
    await service.stop()
  }
}

export function baselineOf(
  session: Session,
  channel: Channel,
  child: Child,
  question: Readonly<Record<string, unknown>>,
): Baseline {
  return async seconds => {
    const first = session.numbers.taken() + 1
    const usage = watchUsage(child.pid)
    const loop = await child.ask<LoopResult & { last: number }>({ is: 'run', first, seconds, ...question })
    const { cpuMs } = usage.read()
    usage.stop()
    for (let number = first; number <= loop.last; number++) session.numbers.next()
    await session.waitForArrival(channel, first, loop.last)
    return { ...loop, cpuUs: (cpuMs * 1000) / loop.done }
  }
}

/** The mail that the service sends, taken apart again: what the bare loops have to send. */
export async function sampleMail(session: Session): Promise<Readonly<Record<string, string>>> {
  const raw = await session.sinks.email.ask<string>({ is: 'last' })
  const { subject = '', text = '', html = '', to } = await PostalMime.parse(raw)
  const recipient = to?.[0]?.address ?? ''
  const number = Number(/\d{8}/.exec(recipient)?.[0])
  if (!text.includes(codeOf(number)) || !html.includes(codeOf(number)) || recipient !== addressOf(number))
    throw new Error('the last mail does not say its own code')
  return { subject, text, html, raw, code: codeOf(number), recipient }
}

function line(name: string, { perSecond, p50Ms, p99Ms, done }: LoopResult): string {
  return `${name}: ${Math.round(perSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${done} messages`
}

function cores(service: Usage, sink: Usage, own: Usage): string {
  return `${Math.round(service.peakMb)} MB; cores: service ${service.cpu.toFixed(2)}, sink ${sink.cpu.toFixed(2)}, driver ${own.cpu.toFixed(2)}`
}
