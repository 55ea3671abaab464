import { openCallbackLoad } from '../callbacks.ts'
import { startChild, watchUsage } from '../child.ts'
import { type Figure, figure, ratio } from '../figures.ts'
import type { Session } from '../session.ts'

const CONNECTIONS = 64

/** What a callback costs without traces, with all, and with a tenth of them: e-mail, in turns. */
export async function measureTraces(session: Session): Promise<Figure[]> {
  const collector = await startChild('./sinks/collector.ts')
  const url = `http://127.0.0.1:${await collector.ask<number>({ is: 'port' })}`
  const tenth = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }
  const services = {
    'no traces': await session.startService(),
    'all traced': await session.startService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } }),
    'a tenth traced': await session.startService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...tenth } }),
  }
  const rates: Record<string, number[]> = {}
  const costs: Record<string, number[]> = {}
  const memory: Record<string, number[]> = {}
  try {
    for (let round = 0; round <= session.rounds; round++) {
      for (const [name, service] of Object.entries(services)) {
        const platform = await openCallbackLoad(session, service, 'email', CONNECTIONS)
        const usage = watchUsage(service.pid)
        const loop = await platform.saturate(session.seconds)
        const { cpuMs, peakMb } = usage.read()
        usage.stop()
        platform.close()
        const cpuUs = (cpuMs * 1000) / loop.done
        session.print(
          `traces ${round}: ${name}: ${Math.round(loop.perSecond)}/s, ${Math.round(cpuUs)} µs of CPU each`,
        )
        // The first warms up.
        if (round === 0) continue
        rates[name] = [...(rates[name] ?? []), loop.perSecond]
        costs[name] = [...(costs[name] ?? []), cpuUs]
        memory[name] = [...(memory[name] ?? []), peakMb]
      }
    }
  } finally {
    for (const service of Object.values(services)) await service.stop()
    await collector.stop()
  }
  const off = costs['no traces'] ?? []
  return Object.keys(services).flatMap(name => [
    figure(`e-mail callbacks, ${name}`, '/s', rates[name] ?? []),
    figure(`${name}: processor time of the service a callback`, 'µs', costs[name] ?? []),
    figure(`${name}: resident memory, most`, 'MB', memory[name] ?? []),
    ...(name === 'no traces' ? [] : [ratio(`${name}: processor time to none`, costs[name] ?? [], off)]),
  ])
}
