import { createHash } from 'node:crypto'

/** How long the work below takes on a quiet machine, ms. */
const QUIET_MS = 25
/** A machine that is slower than this has other troubles; a test that hangs shall end. */
const MOST = 10

let measured: number | undefined

/** How many times longer a short fixed piece of work takes here and now than on a quiet machine; at least 1. */
export function slowness(): number {
  measured ??= Math.min(MOST, Math.max(1, workMs() / QUIET_MS))
  return measured
}

/** A time limit of a test, as a quiet machine keeps it, as it is on this one. @param ms */
export function patient(ms: number): number {
  return Math.ceil(ms * slowness())
}

function workMs(): number {
  hashAgain(2_000)
  const began = performance.now()
  hashAgain(20_000)
  return performance.now() - began
}

function hashAgain(times: number): void {
  let hash = Buffer.alloc(32)
  for (let time = 0; time < times; time += 1) hash = createHash('sha256').update(hash).digest()
}
