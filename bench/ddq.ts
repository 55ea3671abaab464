import { spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCertificate } from '../sandbox/certificate.ts'
import { freePort } from '../test/rigs/free-port.ts'
import { openCallbackLoad } from './callbacks.ts'
import { type Child, startChild, watchUsage } from './child.ts'
import { median } from './loop.ts'
import { type Service, startService } from './service.ts'
import { openSession } from './session.ts'

const USAGE = `node bench/ddq.ts [--only beside,drops] [--rounds 5] [--seconds 10] [--rate 5000] [--minutes 10] [--every 20]

beside  callbacks' answer times at 500/s, on one core, with and without so many device messages a second to filter
drops   500 device messages a second for so many minutes, the line cut every so many seconds: every alert that was
        received is delivered once, and memory stays flat`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'beside,drops' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '5000' },
    minutes: { type: 'string', default: '10' },
    every: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const CALLBACKS_PER_SECOND = 500
const MOST_SLOWER = 1.2
const DROP_RATE = 500
/** One message in so many is an alarm. */
const ALARM_EVERY = 25

interface Counts {
  readonly topics: readonly string[]
  readonly sent: number
  readonly alarms: number
  readonly overruns: number
}

async function waitForSubscription(platform: Child): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await platform.ask<Counts>({ is: 'counts' })).topics.length > 0) return
    await pause(50)
  }
  throw new Error('the service does not subscribe')
}

/** Reads a metric's value, summed over its labels. */
async function readMetric(port: number, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return text
    .split('\n')
    .filter(line => line.startsWith(`callback_courier_${name}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Measures callbacks in turns alone and beside device messages. */
async function beside(): Promise<boolean> {
  const { session, close } = await openSession({
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    print,
  })
  const platform = await startChild('./ddq-platform.ts')
  try {
    const adminPort = await freePort()
    const service = await session.startService({
      env: {
        ...(await platform.ask<Record<string, string>>({ is: 'settings' })),
        ALERTS: 'state another-product 30 - ops@bench.example.com',
        ADMIN_PORT: String(adminPort),
      },
    })
    // The service has one core to itself, and everything else has the other.
    spawnSync('taskset', ['-acp', '0', String(service.pid)])
    for (const pid of [process.pid, platform.pid, session.sinks.email.pid])
      spawnSync('taskset', ['-acp', '1', String(pid)])
    await waitForSubscription(platform)
    const callbacks = await openCallbackLoad(session, service, 'email', 64)
    await callbacks.sendAtRate(CALLBACKS_PER_SECOND, 3)
    const usage = watchUsage(service.pid)
    const alone: number[] = []
    const together: number[] = []
    for (let round = 1; round <= session.rounds; round += 1) {
      usage.read()
      const without = await callbacks.sendAtRate(CALLBACKS_PER_SECOND, session.seconds)
      const cpuWithout = usage.read().cpu
      await platform.ask({ is: 'run', perSecond: Number(values.rate) })
      await pause(500)
      const before = await readMetric(adminPort, 'ddq_messages_total')
      const began = performance.now()
      usage.read()
      const beside = await callbacks.sendAtRate(CALLBACKS_PER_SECOND, session.seconds)
      const used = usage.read()
      const rate =
        ((await readMetric(adminPort, 'ddq_messages_total')) - before) / ((performance.now() - began) / 1000)
      await platform.ask({ is: 'run', perSecond: 0 })
      await pause(500)
      alone.push(without.p99Ms)
      together.push(beside.p99Ms)
      print(
        `${round}: alone p50 ${without.p50Ms.toFixed(2)} p99 ${without.p99Ms.toFixed(2)} ms, ${cpuWithout.toFixed(2)} cores; ` +
          `beside ${Math.round(rate)} device messages/s p50 ${beside.p50Ms.toFixed(2)} p99 ${beside.p99Ms.toFixed(2)} ms, ` +
          `${used.cpu.toFixed(2)} cores, ${Math.round(used.peakMb)} MB`,
      )
    }
    usage.stop()
    callbacks.close()
    const { overruns } = await platform.ask<Counts>({ is: 'counts' })
    const slower = median(together) / median(alone)
    print(
      `beside: p99 ${median(alone).toFixed(2)} ms alone, ${median(together).toFixed(2)} ms with device messages: ` +
        `${slower.toFixed(2)} times (at most ${MOST_SLOWER}); ${overruns} device messages left out`,
    )
    return slower <= MOST_SLOWER && overruns === 0
  } finally {
    await close()
    await platform.stop()
  }
}

/** Checks that alerts arrive once although the connection is cut again and again. */
async function drops(): Promise<boolean> {
  const [platform, sink] = await Promise.all([
    startChild('./ddq-platform.ts'),
    startChild('./sinks/alerts.ts'),
  ])
  let service: Service | undefined
  try {
    const adminPort = await freePort()
    service = await startService({
      certificate: await createCertificate(Date.now()),
      smtpPort: await sink.ask<number>({ is: 'port' }),
      twilioPort: 1,
      env: {
        ...(await platform.ask<Record<string, string>>({ is: 'settings' })),
        ALERTS: 'alert * 0 - ops@bench.example.com; state another-product 30 - ops@bench.example.com',
        ADMIN_PORT: String(adminPort),
      },
    })
    await waitForSubscription(platform)
    await platform.ask({ is: 'redeliver', on: true })
    await platform.ask({ is: 'run', perSecond: DROP_RATE, alarmEvery: ALARM_EVERY })
    const usage = watchUsage(service.pid)
    const memory: number[] = []
    const until = performance.now() + Number(values.minutes) * 60_000
    let cuts = 0
    while (performance.now() < until) {
      await pause(Math.min(Number(values.every) * 1000, until - performance.now()))
      if (performance.now() >= until) break
      cuts += await platform.ask<number>({ is: 'cut' })
      const { peakMb } = usage.read()
      memory.push(peakMb)
      if (cuts % 3 === 0) print(`${cuts} cuts, ${Math.round(peakMb)} MB`)
    }
    usage.stop()
    await platform.ask({ is: 'run', perSecond: 0 })
    return await checkDeliveries(platform, sink, adminPort, memory, cuts)
  } finally {
    await service?.stop()
    await Promise.all([platform.stop(), sink.stop()])
  }
}

async function checkDeliveries(
  platform: Child,
  sink: Child,
  port: number,
  memory: readonly number[],
  cuts: number,
) {
  const { alarms, sent } = await platform.ask<Counts>({ is: 'counts' })
  const received = await readMetric(port, 'ddq_messages_total', 'topic="alert"')
  let got = await sink.ask<{ messages: number; devices: number; doubled: number; nameless: number }>({
    is: 'got',
  })
  const readSent = async () => readMetric(port, 'alerts_total', 'result="told"')
  for (let tries = 0; tries < 600 && got.messages < (await readSent()); tries += 1) {
    await pause(100)
    got = await sink.ask({ is: 'got' })
  }
  await pause(1000)
  got = await sink.ask({ is: 'got' })
  const [once, repeated] = [await readSent(), await readMetric(port, 'alerts_total', 'result="repeated"')]
  const half = memory.slice(Math.floor(memory.length / 4), Math.floor(memory.length / 2))
  const [early, late] = [median(half), median(memory.slice(-Math.max(1, half.length)))]
  print(
    `drops: ${sent} device messages sent, ${alarms} of them alarms, the line cut ${cuts} times; ${received} alarms received, ` +
      `${repeated} of them again after a cut; ${once} told, ${got.devices} devices' mails arrived, ${got.doubled} of them twice; ` +
      `memory ${Math.round(early)} MB early, ${Math.round(late)} MB at the end`,
  )
  const flat = late <= early * 1.1 + 5
  return (
    got.doubled === 0 &&
    got.nameless === 0 &&
    got.devices === once &&
    got.messages === once &&
    once + repeated === received &&
    flat
  )
}

async function main(): Promise<number> {
  const parts = { beside, drops } as const
  const only = values.only.split(',')
  if (values.help || only.some(name => !(name in parts))) {
    print(USAGE)
    return values.help ? 0 : 2
  }
  let well = true
  for (const name of only as (keyof typeof parts)[]) well = (await parts[name]()) && well
  print(well ? 'All as it should be.' : 'FAILED')
  return well ? 0 : 1
}

process.exit(await main())
