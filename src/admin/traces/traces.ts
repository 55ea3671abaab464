import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { build } from '../../runtime/build.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createSpanExporter } from './exporter.ts'
import { createSampler } from './sampler.ts'
import { createTraceSink } from './trace-sink.ts'

export type Traces = ReturnType<typeof openTraces>

/** Traces of callbacks, on their way to a collector. @param url the collector's whole address for traces. */
export function openTraces(url: string, config: Config, clock: Clock, log: Logger) {
  const exporter = createSpanExporter({
    url,
    headers: Object.fromEntries(config.OTEL_EXPORTER_OTLP_HEADERS ?? []),
    origin: {
      version: build.version,
      resource: {
        ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES ?? []),
        'service.name': config.OTEL_SERVICE_NAME,
        'service.version': build.version,
      },
    },
    clock,
    log,
  })
  const sink = createTraceSink({
    now: clock.now,
    sample: createSampler(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG),
    randomHex: octets => randomBytes(octets).toString('hex'),
    record: exporter.record,
  })
  return { sink, close: exporter.close }
}
