import t, { type Test } from 'tap'
import { createLeadership, type LeadershipOptions } from '../../src/runtime/leadership.ts'
import { patient } from '../rigs/patience.ts'

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** A lease as a store keeps it, on this process's clock. */
function lease() {
  let holder = ''
  let until = 0
  return {
    broken: false,
    leaseFor(owner: string) {
      return async (ttlMs: number) => {
        if (this.broken) throw new Error('connection refused')
        if (holder !== owner && until > performance.now()) return false
        holder = owner
        until = performance.now() + ttlMs
        return ttlMs > 0
      }
    },
  }
}

function replica(t: Test, takeLease: LeadershipOptions['takeLease']) {
  const changes: boolean[] = []
  const errors: string[] = []
  const leadership = createLeadership({
    takeLease,
    ttlMs: 1000,
    renewEveryMs: 50,
    now: () => performance.now(),
    onChange: leads => changes.push(leads),
    onError: error => errors.push(error.message),
  })
  t.teardown(() => leadership.stop())
  leadership.start()
  return { ...leadership, changes, errors }
}

async function until(condition: () => boolean): Promise<number> {
  const began = performance.now()
  while (!condition()) {
    if (performance.now() - began > 5000) throw new Error('did not come')
    await pause(5)
  }
  return performance.now() - began
}

t.test('one replica leads; when it stops, the other takes over at once', async t => {
  const store = lease()
  const [a, b] = [replica(t, store.leaseFor('a')), replica(t, store.leaseFor('b'))]
  await until(() => a.isLeader())
  await pause(1500)
  t.ok(a.isLeader(), 'kept by being renewed')
  t.notOk(b.isLeader())
  await a.stop()
  const tookMs = await until(() => b.isLeader())
  t.ok(tookMs < patient(600), `not when the lead would have run out: took ${tookMs} ms`)
  t.same(a.changes, [true, false])
  t.same(b.changes, [true])
})

t.test('a leader that is cut off from the store steps down before another takes over', async t => {
  const store = lease()
  let frozen = false
  const lead = store.leaseFor('a')
  const a = replica(t, async ttlMs => {
    if (frozen) throw new Error('cut off')
    return lead(ttlMs)
  })
  await until(() => a.isLeader())
  const b = replica(t, store.leaseFor('b'))
  frozen = true
  let both = false
  await until(() => {
    both ||= a.isLeader() && b.isLeader()
    return b.isLeader()
  })
  t.notOk(both)
  t.notOk(a.isLeader(), 'it gave up by itself, in time')
})

t.test('a leader whose store does not answer steps down when its lease runs out', async t => {
  let asked = 0
  const a = replica(t, async () => {
    asked += 1
    if (asked > 1) await silence.promise
    return true
  })
  const silence = Promise.withResolvers<void>()
  await until(() => a.isLeader())
  const heldMs = await until(() => !a.isLeader())
  t.ok(heldMs > 500, `it led until then: ${heldMs} ms`)
  silence.resolve()
  await until(() => a.isLeader())
  // The late answer's own lease may be nearly over.
  t.same(a.changes.slice(0, 3), [true, false, true])
  t.same(a.errors, [])
})

t.test('a store that cannot be reached for a moment does not end the leadership', async t => {
  const store = lease()
  const a = replica(t, store.leaseFor('a'))
  await until(() => a.isLeader())
  store.broken = true
  await pause(100)
  store.broken = false
  await pause(150)
  t.same(a.changes, [true])
  t.ok(a.errors.length >= 1)
})

t.test('a leader whom the store tells that another one leads steps down at once', async t => {
  let granted = true
  const changes: boolean[] = []
  const leadership = createLeadership({
    takeLease: async () => granted,
    ttlMs: 600_000,
    renewEveryMs: 5,
    now: () => performance.now(),
    onChange: leads => changes.push(leads),
    onError: error => t.fail(error.message),
  })
  t.teardown(() => leadership.stop())
  leadership.start()
  await until(() => changes.length > 0)
  granted = false
  await until(() => changes.length > 1)
  t.same(changes, [true, false])
})

t.test('where one process holds the store, it leads', async t => {
  const a = replica(t, undefined)
  t.ok(a.isLeader())
  await a.stop()
  t.same(a.changes, [true, false])
})

t.test('a lease that is granted at the moment of the end is given back', async t => {
  for (const granted of [true, false]) {
    const answers: (() => void)[] = []
    const asked: number[] = []
    const a = replica(t, async ttlMs => {
      asked.push(ttlMs)
      if (ttlMs > 0) await new Promise<void>(resolve => answers.push(resolve))
      return granted
    })
    const ended = a.stop()
    answers[0]?.()
    await ended
    t.same(asked, granted ? [1000, 0] : [1000])
    t.same(a.changes, [])
    t.same(a.errors, [])
  }
})

t.test('a lease whose grant was lost is given back', async t => {
  const asked: number[] = []
  const a = replica(t, async ttlMs => {
    asked.push(ttlMs)
    if (ttlMs > 0) throw new Error('the connection was lost')
    return false
  })
  await until(() => a.errors.length > 0)
  await a.stop()
  t.equal(asked.at(-1), 0)
})

t.test('a start after the end begins anew', async t => {
  const a = replica(t, lease().leaseFor('a'))
  await until(() => a.isLeader())
  await a.stop()
  a.start()
  await until(() => a.isLeader())
  t.same(a.changes, [true, false, true])
})

t.test('a grant that comes too late begins no term, and a term that was over is seen to end', async t => {
  let [at, answerTakesMs] = [0, 2000]
  const changes: boolean[] = []
  const leadership = createLeadership({
    takeLease: async ttlMs => {
      at += answerTakesMs
      return ttlMs > 0
    },
    ttlMs: 1000,
    renewEveryMs: 10,
    now: () => at,
    onChange: leads => changes.push(leads),
    onError: error => t.fail(error.message),
  })
  t.teardown(() => leadership.stop())
  leadership.start()
  await until(() => at >= 6000)
  t.same(changes, [])
  answerTakesMs = 0
  await until(() => changes.length > 0)
  // No timer has noticed it.
  at += 5000
  await until(() => changes.length > 1)
  t.same(changes, [true, false, true])
})
