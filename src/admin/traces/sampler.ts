import type { SettingValues } from '../../config/settings.ts'
import type { TraceParent } from './trace-context.ts'

/** Whether a trace is recorded; the same answer for the same trace, whoever asks. */
export type SampleTrace = (traceId: string, parent: TraceParent | null) => boolean

/** @param ratio of the traces that `traceidratio` records, from 0 to 1. */
export function createSampler(sampler: SettingValues['OTEL_TRACES_SAMPLER'], ratio: number): SampleTrace {
  const [, followsParent, rule] = /^(parentbased_)?(.*)$/.exec(sampler) ?? []
  const share = rule === 'always_on' ? 1 : rule === 'always_off' ? 0 : ratio
  return (traceId, parent) => {
    if (followsParent !== undefined && parent !== null) return parent.sampled
    return randomnessOf(traceId) >= 1 - share
  }
}

/** The last 56 bits, which are random in our ids and by W3C's trace context, level 2; from 0 to less than 1. */
function randomnessOf(traceId: string): number {
  return Number.parseInt(traceId.slice(18), 16) / 2 ** 56
}
