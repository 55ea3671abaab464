import PostalMime from 'postal-mime'
import { openPlatform } from '../callbacks.ts'
import { type Child, startChild, type Usage, watchUsage } from '../child.ts'
import { addressOf, codeOf } from '../distinct.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Loop } from '../loop.ts'
import type { Channel, Stage } from '../stage.ts'

/** Callbacks under way at once. */
const CONNECTIONS = { email: 64, sms: 200 } as const
const PACED_SECONDS = 10
/** What a service that stores, delivers and answers may add to the sink's own latency at half its rate, ms. */
const ANSWER_MS = 10
const MEMORY_MB = 200
/** About what Twilio's API takes from another continent, ms. */
const FAR_MS = 100

/** A loop, and what a message of it cost its process, µs of processor time. */
type Costed = Loop & { readonly cpuUs: number }
type Baseline = (seconds: number) => Promise<Costed>

/** Callbacks a second end to end beside bare loops over the same client, memory, and answer times at half the rate. */
export async function measureEmail(stage: Stage): Promise<Figure[]> {
  const baseline = await startChild('./baselines/mail.ts', { SMTP_PORT: String(stage.ports.email) })
  try {
    return await measure(stage, 'email', async () => {
      const mail = await sampleMail(stage)
      return {
        'bare nodemailer pool, composing': baselineOf(stage, 'email', baseline, { how: 'composed', mail }),
        'bare nodemailer pool, raw': baselineOf(stage, 'email', baseline, { how: 'raw', mail }),
      }
    })
  } finally {
    await baseline.stop()
  }
}

export async function measureSms(stage: Stage): Promise<Figure[]> {
  const baseline = await startChild('./baselines/sms.ts', {
    TWILIO_URL: `https://127.0.0.1:${stage.ports.sms}`,
    TLS_CERT: stage.certificate.cert,
  })
  const stock = baselineOf(stage, 'sms', baseline, { width: CONNECTIONS.sms })
  try {
    return [
      ...(await measure(stage, 'sms', async () => ({ 'bare stock twilio SDK': stock }))),
      ...(await measureFar(stage, stock)),
    ]
  } finally {
    await baseline.stop()
  }
}

/** The same with a provider that takes as long to answer as a real one over the internet. */
async function measureFar(stage: Stage, stock: Baseline): Promise<Figure[]> {
  const service = await stage.service()
  const platform = await openPlatform(stage, service, 'sms', CONNECTIONS.sms)
  const [ours, theirs]: [number[], number[]] = [[], []]
  await stage.sinks.sms.ask({ is: 'latency', ms: FAR_MS })
  try {
    for (let round = 0; round <= stage.rounds; round++) {
      const loop = await platform.full(stage.seconds)
      const bare = await stock(stage.seconds)
      // The first warms up.
      if (round === 0) continue
      ours.push(loop.perSecond)
      theirs.push(bare.perSecond)
      stage.say(`sms at ${FAR_MS} ms, ${round}: ${line('the service', loop)}; ${line('stock SDK', bare)}`)
    }
  } finally {
    await stage.sinks.sms.ask({ is: 'latency', ms: 0 })
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
  stage: Stage,
  channel: Channel,
  baselines: () => Promise<Readonly<Record<string, Baseline>>>,
): Promise<Figure[]> {
  const service = await stage.service()
  const platform = await openPlatform(stage, service, channel, CONNECTIONS[channel])
  const usage = watchUsage(service.pid)
  const sinkUsage = watchUsage(stage.sinks[channel].pid)
  const ownUsage = watchUsage(process.pid)
  const ours: Costed[] = []
  const memory: number[] = []
  const theirs: Record<string, Costed[]> = {}
  try {
    await platform.full(Math.min(3, stage.seconds))
    const others = await baselines()
    for (const run of Object.values(others)) await run(1)
    for (let round = 1; round <= stage.rounds; round++) {
      for (const watched of [usage, sinkUsage, ownUsage]) watched.look()
      const loop = await platform.full(stage.seconds)
      const used = usage.look()
      ours.push({ ...loop, cpuUs: (used.cpuMs * 1000) / loop.done })
      memory.push(used.peakMb)
      stage.say(
        `${channel} ${round}: ${line('the service', loop)}; ${cores(used, sinkUsage.look(), ownUsage.look())}`,
      )
      for (const [name, run] of Object.entries(others)) {
        const bare = await run(stage.seconds)
        theirs[name] = [...(theirs[name] ?? []), bare]
        stage.say(`${channel} ${round}: ${line(name, bare)}; ${Math.round(bare.cpuUs)} µs of CPU each`)
      }
    }
    const rates = ours.map(({ perSecond }) => perSecond)
    const rate = figure(`${channel} callbacks`, '/s', rates)
    const paced = await platform.paced(rate.value / 2, PACED_SECONDS)
    stage.say(`${channel}: ${line('the service at half its rate', paced)}`)
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

function baselineOf(
  stage: Stage,
  channel: Channel,
  child: Child,
  question: Readonly<Record<string, unknown>>,
): Baseline {
  return async seconds => {
    const first = stage.numbers.taken() + 1
    const usage = watchUsage(child.pid)
    const loop = await child.ask<Loop & { last: number }>({ is: 'run', first, seconds, ...question })
    const { cpuMs } = usage.look()
    usage.stop()
    for (let number = first; number <= loop.last; number++) stage.numbers.next()
    await stage.arrived(channel, first, loop.last)
    return { ...loop, cpuUs: (cpuMs * 1000) / loop.done }
  }
}

/** The mail that the service sends, taken apart again: what the bare loops have to send. */
async function sampleMail(stage: Stage): Promise<Readonly<Record<string, string>>> {
  const raw = await stage.sinks.email.ask<string>({ is: 'last' })
  const { subject = '', text = '', html = '', to } = await PostalMime.parse(raw)
  const recipient = to?.[0]?.address ?? ''
  const number = Number(/\d{8}/.exec(recipient)?.[0])
  if (!text.includes(codeOf(number)) || !html.includes(codeOf(number)) || recipient !== addressOf(number))
    throw new Error('the last mail does not say its own code')
  return { subject, text, html, raw, code: codeOf(number), recipient }
}

function line(name: string, { perSecond, p50Ms, p99Ms, done }: Loop): string {
  return `${name}: ${Math.round(perSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${done} messages`
}

function cores(service: Usage, sink: Usage, own: Usage): string {
  return `${Math.round(service.peakMb)} MB; cores: service ${service.cpu.toFixed(2)}, sink ${sink.cpu.toFixed(2)}, driver ${own.cpu.toFixed(2)}`
}
