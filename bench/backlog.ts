import { parseArgs } from 'node:util'
import { createCertificate } from '../sandbox/certificate.ts'
import { startChild, watchUsage } from './child.ts'
import { buildPost, expectErrCodeZero, openClient } from './https-client.ts'
import { emailCallback } from './numbered-callbacks.ts'
import { PATHS, startService } from './service.ts'

const USAGE = `node bench/backlog.ts [--rows 1000,1000000] [--seconds 20] [--latency 200]

What a backlog that is due costs the service: starts it on a store with so many mails to be sent at once, lets it work
them off while new codes come in, and prints its memory, and how long the codes took to be answered with the provider's
verdict. The memory at the largest backlog must not exceed that at the smallest by more than a quarter.`

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000,1000000' },
    seconds: { type: 'string', default: '20' },
    latency: { type: 'string', default: '200' },
    help: { type: 'boolean', default: false },
  },
})

const CODES_PER_SECOND = 20
const CONNECTIONS = 6

async function measure(rows: number, seconds: number): Promise<number> {
  const certificate = await createCertificate(Date.now())
  const [smtp, twilio] = await Promise.all([
    startChild('./sinks/smtp.ts', { LATENCY_MS: values.latency }),
    startChild('./sinks/twilio.ts', { TLS_KEY: certificate.key, TLS_CERT: certificate.cert }),
  ])
  const service = await startService({
    certificate,
    smtpPort: await smtp.ask<number>({ is: 'port' }),
    twilioPort: await twilio.ask<number>({ is: 'port' }),
    async prepare(env) {
      const filler = await startChild('./fill.ts', env)
      await filler.ask({ is: 'fill', rows, due: true })
      await filler.stop()
    },
  })
  const usage = watchUsage(service.pid)
  const client = await openClient({ port: service.port, ca: certificate.cert, connections: CONNECTIONS })
  let number = 0
  const loop = await client.sendAtRate(CODES_PER_SECOND, seconds, () => {
    number += 1
    return { request: buildPost(PATHS.email, emailCallback(number).body), check: expectErrCodeZero }
  })
  const { peakMb, cpu } = usage.read()
  usage.stop()
  client.close()
  await service.stop()
  await Promise.all([smtp.stop(), twilio.stop()])
  const line = [
    `${rows.toLocaleString('en')} rows due`,
    `${Math.round(peakMb)} MB resident at most`,
    `codes answered p50 ${loop.p50Ms.toFixed(1)} ms, p99 ${loop.p99Ms.toFixed(1)} ms`,
    `${Math.round(cpu * 100)} % of a core`,
  ]
  process.stdout.write(`${line.join('; ')}\n`)
  return peakMb
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const sizes = values.rows.split(',').map(Number)
  const peaks: number[] = []
  for (const rows of sizes) peaks.push(await measure(rows, Number(values.seconds)))
  const [least = 0, most = 0] = [peaks[0], peaks.at(-1)]
  process.stdout.write(`ratio ${(most / least).toFixed(2)}\n`)
  return most > least * 1.25 ? 1 : 0
}

process.exit(await main())
