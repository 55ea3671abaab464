import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import type { Client } from '../../src/outbox/postgres/connect.ts'
import { createClockWatch, HEARTBEAT_LIMITS, startHeartbeats } from '../../src/outbox/postgres/heartbeats.ts'

/** Heartbeats to a database that knows one other replica, by a clock of the test's. */
async function beat(t: Test) {
  const state = { at: 0, tookMs: 0, isAway: false, other: { name: 'other', heartbeats: 5, hasLeft: false } }
  const log: string[] = []
  const client = {
    connection: { stream: { writableCorked: 1 } },
    async query({ text }: { readonly text: string }) {
      state.at += state.tookMs
      if (state.isAway) throw await setImmediate(new StoreUnavailable(quote('away')))
      return { rows: text.includes('heartbeats + 1') ? [{ at: 0, ...state.other }] : [] }
    },
  }
  const beats = await startHeartbeats({
    connections: { use: work => work(client as unknown as Client) },
    name: 'own',
    limits: { everyMs: 5000, sureMs: 6000, goneMs: 12_000 },
    monotonic: () => state.at,
    onDatabaseTime: () => {},
    log: ({ message }) => log.push(message),
  })
  t.teardown(() => beats.leave())
  const beatAt = async (ms: number) => {
    state.at = ms
    await beats.confirmAlive()
    return beats.deadReplicas()
  }
  return { state, log, beats, beatAt }
}

t.test(
  'a replica is dead when it is silent for long, and not when nobody could reach the database',
  async t => {
    const { state, log, beatAt } = await beat(t)
    t.same(log, [], 'a process that begins was not out of touch')
    t.same(HEARTBEAT_LIMITS, { everyMs: 2000, sureMs: 8000, goneMs: 12_000 }, 'what docs/replicas.md says')
    state.tookMs = 100
    t.same(await beatAt(20_000), [], 'after an outage each has time to come back')
    t.match(log[0], /^out of touch for 20 s/)
    t.same(await beatAt(26_000), [])
    t.same(await beatAt(32_000), [], 'how long its own answer took does not count')
    t.match(await beatAt(38_000), [{ name: 'other' }], 'it was silent while others were heard')
    Object.assign(state, { tookMs: 0, other: { ...state.other, heartbeats: 6 } })
    t.same(await beatAt(44_000), [], 'it is back')
    const silent = [await beatAt(50_000), await beatAt(56_000)]
    t.same(silent, [[], [{ name: 'other', heartbeats: 6 }]], 'for twelve seconds')
    state.other = { ...state.other, hasLeft: true, heartbeats: 7 }
    t.same(await beatAt(62_000), [{ name: 'other', heartbeats: 7 }], 'it has left')
  },
)

t.test('a heartbeat holds claims from when it was sent, and they are not held after an outage', async t => {
  const { state, beats, beatAt } = await beat(t)
  state.tookMs = 1000
  await beatAt(6000)
  const held = { token: beats.newLeaseToken(), until: 0 }
  const isHeldAt = (at: number) => {
    state.at = at
    return beats.isHeld(held)
  }
  t.same([7000, 11_999, 12_000].map(isHeldAt), [true, true, false])
  await beatAt(12_000)
  t.equal(beats.isHeld(held), false, 'it is given back')
  const next = { token: beats.newLeaseToken(), until: 0 }
  t.equal(beats.isHeld(next), true)
  t.equal(beats.isHeld({ token: next.token.replace('own', 'other'), until: 0 }), false)
  Object.assign(state, { tookMs: 7000, at: 20_000 })
  await t.rejects(beats.confirmAlive(), StoreUnavailable, 'an answer that takes longer than it holds')
  t.equal(state.at, 34_000, 'it is asked twice')
  state.isAway = true
  await Promise.all([t.rejects(beats.confirmAlive(), StoreUnavailable), beats.leave()])
})

t.test(
  'a clock is apart from the database’s by more than two seconds and half of what it took to ask',
  async t => {
    const log: string[] = []
    const compare = createClockWatch({ now: () => 100_000 }, ({ doing, message }) =>
      log.push(`${doing}: ${message}`),
    )
    const asked = '102000/0 98000/0 97000/2000 102001/0 104000/0 101999/0 97499/1000 96498/1000'
    const lines = asked.split(' ').map(each => {
      const [at = 0, tookMs = 0] = each.split('/').map(Number)
      compare(at, tookMs)
      return log.length
    })
    t.same(lines, [0, 0, 0, 1, 1, 2, 2, 3])
    t.same(log, [
      "compare clocks: our clock and the database's are 2 s apart: set both by NTP",
      "compare clocks: our clock and the database's agree again",
      "compare clocks: our clock and the database's are 3 s apart: set both by NTP",
    ])
  },
)
