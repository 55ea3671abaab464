import { createHash } from 'node:crypto'
import { startChild } from '../child.ts'
import { atLeast, type Figure, figure, ratio } from '../figures.ts'
import { buildGet, expectErrCodeZero, openClient } from '../https-client.ts'
import { CORP_ID, EMAIL_TOKEN, PATHS } from '../service.ts'
import type { Session } from '../session.ts'

const CONNECTIONS = 64

/** GET validation beside a bare Fastify HTTPS route that answers a constant. */
export async function measureValidation(session: Session): Promise<Figure[]> {
  const { key, cert } = session.certificate
  const service = await session.startService()
  const bare = await startChild('./baselines/get.ts', { TLS_KEY: key, TLS_CERT: cert })
  const port = await bare.ask<number>({ is: 'port' })
  const ours = await openClient({ port: service.port, ca: cert, connections: CONNECTIONS })
  const theirs = await openClient({ port, ca: cert, connections: CONNECTIONS })
  const requests = Array.from({ length: 1000 }, (_, i) =>
    Buffer.from(buildGet(`${PATHS.email}?${signed(1_790_000_000 + i)}`)),
  )
  const constant = Buffer.from(buildGet('/constant'))
  let asked = 0
  const validation = (): { request: Buffer; check: typeof expectErrCodeZero } => ({
    request: requests[asked++ % requests.length] ?? constant,
    check: expectErrCodeZero,
  })
  const plain = (): { request: Buffer; check: typeof expectErrCodeZero } => ({
    request: constant,
    check: expectErrCodeZero,
  })
  const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  try {
    await ours.saturate(2, validation)
    await theirs.saturate(2, plain)
    for (let round = 1; round <= session.rounds; round++) {
      const one = await ours.saturate(session.seconds, validation)
      const other = await theirs.saturate(session.seconds, plain)
      rates.ours.push(one.perSecond)
      rates.theirs.push(other.perSecond)
      session.print(
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
