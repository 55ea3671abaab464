import { createHash } from 'node:crypto'
import { startChild } from '../child.ts'
import { atLeast, type Figure, figure, ratio } from '../figures.ts'
import { getOf, mustBeZero, openClient } from '../https-client.ts'
import { CORP_ID, EMAIL_TOKEN, PATHS } from '../service.ts'
import type { Stage } from '../stage.ts'

const CONNECTIONS = 64

/** GET validation beside a bare Fastify HTTPS route that answers a constant. */
export async function measureValidation(stage: Stage): Promise<Figure[]> {
  const { key, cert } = stage.certificate
  const service = await stage.service()
  const bare = await startChild('./baselines/get.ts', { TLS_KEY: key, TLS_CERT: cert })
  const port = await bare.ask<number>({ is: 'port' })
  const ours = await openClient({ port: service.port, ca: cert, connections: CONNECTIONS })
  const theirs = await openClient({ port, ca: cert, connections: CONNECTIONS })
  const requests = Array.from({ length: 1000 }, (_, i) =>
    Buffer.from(getOf(`${PATHS.email}?${signed(1_790_000_000 + i)}`)),
  )
  const constant = Buffer.from(getOf('/constant'))
  let asked = 0
  const validation = (): { request: Buffer; check: typeof mustBeZero } => ({
    request: requests[asked++ % requests.length] ?? constant,
    check: mustBeZero,
  })
  const plain = (): { request: Buffer; check: typeof mustBeZero } => ({
    request: constant,
    check: mustBeZero,
  })
  const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  try {
    await ours.full(2, validation)
    await theirs.full(2, plain)
    for (let round = 1; round <= stage.rounds; round++) {
      const one = await ours.full(stage.seconds, validation)
      const other = await theirs.full(stage.seconds, plain)
      rates.ours.push(one.perSecond)
      rates.theirs.push(other.perSecond)
      stage.say(
        `get ${round}: the service ${Math.round(one.perSecond)}/s, p99 ${one.p99Ms.toFixed(1)} ms; bare Fastify ${Math.round(other.perSecond)}/s`,
      )
    }
  } finally {
    ours.close()
    theirs.close()
    await Promise.all([bare.stop(), service.stop()])
  }
  return [
    figure('GET validations', '/s', rates.ours),
    figure('bare Fastify constant', '/s', rates.theirs),
    atLeast(0.7, ratio('GET: service to bare Fastify', rates.ours, rates.theirs)),
  ]
}

function signed(timestamp: number): string {
  const signature = createHash('sha1').update(`${CORP_ID}${EMAIL_TOKEN}${timestamp}`).digest('hex')
  return `timestamp=${timestamp}&signature=${signature}`
}
