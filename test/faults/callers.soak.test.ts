import t, { type Test } from 'tap'
import { createCpuLimit } from '../rigs/cgroup.ts'
import { startProcess } from '../rigs/process.ts'
import { NO_QUOTAS, startSinks } from '../rigs/service.ts'
import { type CallersOptions, countFates, createCallers } from './callers.ts'

interface Overload extends Pick<CallersOptions, 'connections'> {
  readonly scheme: 'http' | 'https'
  readonly seconds: number
}

/** Part of a core, as a small container has it. */
const CORES = 0.15

/** Calls at twice the rate that the service carries, and says what became of the callers. */
async function overload(t: Test, { scheme, connections, seconds }: Overload): Promise<void> {
  const limit = createCpuLimit(CORES)
  if (limit === null) {
    t.comment('this machine lets nobody limit the CPU')
    return
  }
  const { settings } = await startSinks(t)
  const { child, publicUrl, exited } = await limit.during(() =>
    startProcess(t, { ...settings, ...NO_QUOTAS, ...(scheme === 'http' ? { TLS: 'off' } : {}) }),
  )
  const callers = createCallers({ url: publicUrl, connections, patienceMs: 5000 })
  try {
    await callers.saturate(48, seconds / 4)
    const perSecond = await callers.saturate(48, seconds / 4)
    const fates = await callers.callAtRate(perSecond * 2, seconds)
    let calls = 1
    while ((await callers.callOnce()).became !== 0 && calls < 10) calls += 1
    t.ok(calls < 10, 'and then they are taken as before')
    const counts = countFates(fates)
    const found = `${perSecond.toFixed(0)}/s, then ${JSON.stringify(counts)}, then taken with call ${calls}`
    const { 0: zero = 0, 5031002: refused = 0 } = counts
    t.ok(zero >= 0.8 * perSecond * seconds, `answered 0: ${found}`)
    const answered = (zero + refused) / fates.length
    // Over TLS a refusal takes a handshake: where that alone is too much, a connection is closed before it.
    t.ok(answered >= (scheme === 'https' && connections === 'new' ? 0.5 : 0.98), `answered: ${found}`)
    t.ok((counts['left'] ?? 0) <= fates.length * 0.02, `left: ${found}`)
  } finally {
    callers.close()
    child.kill('SIGKILL')
    await exited
    limit.remove()
  }
}

for (const scheme of ['https', 'http'] as const)
  for (const connections of ['new', 'kept'] as const)
    t.test(`${scheme}, ${connections} connections: more callbacks than its share of a core can carry`, t =>
      overload(t, { scheme, connections, seconds: 20 }),
    )
