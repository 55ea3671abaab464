import t, { type Test } from 'tap'
import { createLeadership, type LeadershipOptions } from '../../src/runtime/leadership.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

/** A lease as a store keeps it. */
function lease(now: () => number) {
  let holder = ''
  let until = 0
  return {
    broken: false,
    leaseFor(owner: string) {
      return async (ttlMs: number) => {
        if (this.broken) throw new Error('connection refused')
        if (holder !== owner && until > now()) return false
        holder = owner
        until = now() + ttlMs
        return ttlMs > 0
      }
    },
  }
}

function replica(
  t: Test,
  now: () => number,
  takeLease: LeadershipOptions['takeLease'],
  times = { ttlMs: 1000, renewEveryMs: 50 },
) {
  const changes: boolean[] = []
  const errors: string[] = []
  const leadership = createLeadership({
    takeLease,
    ...times,
    now,
    onChange: leads => changes.push(leads && leadership.isLeader()),
    onError: error => errors.push(error.message),
  })
  t.teardown(() => leadership.stop())
  leadership.start()
  return { ...leadership, changes, errors }
}

t.test('one replica leads; when it stops, the other takes over at once', async t => {
  const { now, pass } = enterVirtualTime(t)
  const store = lease(now)
  const [a, b] = [replica(t, now, store.leaseFor('a')), replica(t, now, store.leaseFor('b'))]
  await pass(1500)
  t.ok(a.isLeader(), 'kept by being renewed')
  t.notOk(b.isLeader())
  await a.stop()
  await pass(50)
  t.ok(b.isLeader(), 'not when the lead would have run out')
  t.same(a.changes, [true, false])
  t.same(b.changes, [true])
})

t.test('a leader that is cut off from the store steps down before another takes over', async t => {
  const { now, pass } = enterVirtualTime(t)
  const store = lease(now)
  let frozen = false
  const lead = store.leaseFor('a')
  const a = replica(t, now, async ttlMs => {
    if (frozen) throw new Error('cut off')
    return lead(ttlMs)
  })
  await pass(1)
  t.ok(a.isLeader())
  const b = replica(t, now, store.leaseFor('b'))
  frozen = true
  for (let ms = 0; ms < 1050; ms += 1) {
    await pass(1)
    if (a.isLeader() && b.isLeader()) t.fail(`both after ${ms} ms`)
  }
  t.ok(b.isLeader())
  t.notOk(a.isLeader(), 'it gave up by itself, in time')
})

t.test('a leader whose store does not answer steps down when its lease runs out', async t => {
  const { now, pass } = enterVirtualTime(t)
  let asked = 0
  const a = replica(t, now, async () => {
    asked += 1
    if (asked > 1) await silence.promise
    return true
  })
  const silence = Promise.withResolvers<void>()
  await pass(999)
  t.same(a.changes, [true], 'it led until then')
  await pass(51)
  t.same(a.changes, [true, false])
  silence.resolve()
  await pass(50)
  t.same(a.changes, [true, false, true])
  t.same(a.errors, [])
})

t.test('a store that cannot be reached for a moment does not end the leadership', async t => {
  const { now, pass } = enterVirtualTime(t)
  const store = lease(now)
  const a = replica(t, now, store.leaseFor('a'))
  await pass(10)
  store.broken = true
  await pass(900)
  store.broken = false
  await pass(150)
  t.same(a.changes, [true])
  t.ok(a.errors.length >= 1)
})

t.test('a leader whom the store tells that another one leads steps down at once', async t => {
  const { now, pass } = enterVirtualTime(t)
  let granted = true
  const { changes, errors } = replica(t, now, async () => granted, { ttlMs: 600_000, renewEveryMs: 5 })
  await pass(10)
  granted = false
  await pass(5)
  t.same([changes, errors], [[true, false], []])
})

t.test('where one process holds the store, it leads', async t => {
  const a = replica(t, Date.now, undefined)
  t.ok(a.isLeader())
  await a.stop()
  t.same(a.changes, [true, false])
})

t.test('a lease that is granted at the moment of the end is given back', async t => {
  for (const granted of [true, false]) {
    const answers: (() => void)[] = []
    const asked: number[] = []
    const a = replica(t, Date.now, async ttlMs => {
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
  const { now, pass } = enterVirtualTime(t)
  const asked: number[] = []
  const a = replica(t, now, async ttlMs => {
    asked.push(ttlMs)
    if (ttlMs > 0) throw new Error('the connection was lost')
    return false
  })
  await pass(1)
  t.not(a.errors.length, 0)
  await a.stop()
  t.equal(asked.at(-1), 0)
})

t.test('a start after the end begins anew', async t => {
  const { now, pass } = enterVirtualTime(t)
  const a = replica(t, now, lease(now).leaseFor('a'))
  await pass(1)
  await a.stop()
  a.start()
  await pass(1)
  t.same(a.changes, [true, false, true])
})

t.test('a grant that comes too late begins no term, and a term that was over is seen to end', async t => {
  const { pass } = enterVirtualTime(t)
  let [at, answerTakesMs] = [0, 2000]
  const lease = async (ttlMs: number) => {
    at += answerTakesMs
    return ttlMs > 0
  }
  const { changes, errors } = replica(t, () => at, lease, { ttlMs: 1000, renewEveryMs: 10 })
  await pass(30)
  t.same(changes, [])
  answerTakesMs = 0
  await pass(10)
  // No timer has noticed it.
  at += 5000
  await pass(10)
  t.same([changes, errors], [[true, false, true], []])
})
