import t, { type Test } from 'tap'
import { createLeadership, type LeadershipOptions } from '../../src/alerts/leadership.ts'

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** A lease as a store keeps it, on this process's clock. */
function lease() {
  let holder = ''
  let until = 0
  return {
    broken: false,
    lead(owner: string) {
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

function replica(t: Test, lead: LeadershipOptions['lead']) {
  const changes: boolean[] = []
  const troubles: string[] = []
  const leadership = createLeadership({
    lead,
    ttlMs: 1000,
    everyMs: 50,
    now: () => performance.now(),
    onChange: leads => changes.push(leads),
    onTrouble: error => troubles.push(error.message),
  })
  t.teardown(() => leadership.stop())
  leadership.start()
  return { ...leadership, changes, troubles }
}

async function until(condition: () => boolean): Promise<number> {
  const began = performance.now()
  while (!condition()) {
    if (performance.now() - began > 5000) throw new Error('did not come')
    await pause(5)
  }
  return performance.now() - began
}

t.test('one replica leads; the other takes over at once when it is told', async t => {
  const store = lease()
  const [a, b] = [replica(t, store.lead('a')), replica(t, store.lead('b'))]
  await until(() => a.leads())
  await pause(1500)
  t.ok(a.leads(), 'kept by being renewed')
  t.notOk(b.leads())
  await a.stop()
  const tookMs = await until(() => b.leads())
  t.ok(tookMs < 600, `not when the lead would have run out: took ${tookMs} ms`)
  t.same(a.changes, [true, false])
  t.same(b.changes, [true])
})

t.test('and when the leader is not heard of: never two at once', async t => {
  const store = lease()
  let frozen = false
  const lead = store.lead('a')
  const a = replica(t, async ttlMs => {
    if (frozen) throw new Error('cut off')
    return lead(ttlMs)
  })
  await until(() => a.leads())
  const b = replica(t, store.lead('b'))
  frozen = true
  let both = false
  await until(() => {
    both ||= a.leads() && b.leads()
    return b.leads()
  })
  t.notOk(both)
  t.notOk(a.leads(), 'it gave up by itself, in time')
})

t.test('a store that cannot be reached for a moment costs nothing', async t => {
  const store = lease()
  const a = replica(t, store.lead('a'))
  await until(() => a.leads())
  store.broken = true
  await pause(100)
  store.broken = false
  await pause(150)
  t.same(a.changes, [true])
  t.ok(a.troubles.length >= 1)
})

t.test('where one process holds the store, it leads', async t => {
  const a = replica(t, undefined)
  t.ok(a.leads())
  await a.stop()
  t.same(a.changes, [true, false])
})

t.test('a start after the end begins anew', async t => {
  const a = replica(t, lease().lead('a'))
  await until(() => a.leads())
  await a.stop()
  a.start()
  await until(() => a.leads())
  t.same(a.changes, [true, false, true])
})
