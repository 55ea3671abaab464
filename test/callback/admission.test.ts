import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { type AdmittedCallback, countOctets, createAdmission } from '../../src/callback/admission.ts'

/** Octets of the largest body that is read. */
const BODY_LIMIT = 64 * 1024

interface Store {
  /** A commit takes `commitMs`, and `eachMs` for each callback in it. */
  commitMs: number
  eachMs: number
  /** What comes while a commit runs is one of its own, and who comes behind it waits for three. */
  readonly isAhead?: boolean
}

/**
 * Plays callbacks that come at even intervals, before a store that commits all that wait, one commit after the other.
 * Time is simulated, in steps of a ms.
 */
function play(store: Store) {
  let now = 0
  const admission = createAdmission(() => now)
  let waiting: { readonly admitted: AdmittedCallback; readonly at: number }[] = []
  let since = 0
  /** What the commit that runs took, and one that is full already where the store is `ahead`. */
  const batches: (typeof waiting)[] = []
  let owed = 0
  const step = (perMs: number) => {
    const waits: number[] = []
    let [refused, hurried] = [0, 0]
    for (owed += perMs; owed >= 1; owed -= 1) {
      const admitted = admission.admit(300)
      if (admitted === null) refused += 1
      else if (admitted.noteBodyRead()) waiting.push({ admitted, at: now })
      else refused += 1
    }
    const [batch] = batches
    if (batch !== undefined && now - since >= store.commitMs + store.eachMs * batch.length) {
      admission.recordCommit({ ms: now - since, calls: batch.length })
      for (const { admitted, at } of batch) {
        if (admitted.noteStored() === 100) hurried += 1
        admitted.end()
        waits.push(now - at)
      }
      batches.shift()
      since = now
    }
    if (waiting.length > 0 && batches.length < (store.isAhead ? 2 : 1)) {
      if (batches.push(waiting) === 1) since = now
      waiting = []
    }
    now += 1
    return { waits, refused, hurried }
  }
  return {
    /** @param perMs callbacks that come in a ms, for `ms`. */
    run(perMs: number, ms: number) {
      const steps = Array.from({ length: ms }, () => step(perMs))
      const waits = steps.flatMap(each => each.waits).sort((a, b) => a - b)
      return {
        stored: waits.length,
        refused: steps.reduce((sum, each) => sum + each.refused, 0),
        hurried: steps.reduce((sum, each) => sum + each.hurried, 0),
        p99Ms: waits[Math.floor(waits.length * 0.99)] ?? 0,
      }
    },
  }
}

t.test('what can be stored is let in', async t => {
  for (const commitMs of [1, 20]) {
    const service = play({ commitMs, eachMs: 0.5 })
    for (const perMs of [0.2, 1, 0.2, 1])
      t.equal(service.run(perMs, 3000).refused, 0, `commits of ${commitMs} ms, ${perMs * 1000}/s`)
  }
  // On a slow disk, a rate that leaps is not believed at once.
  const service = play({ commitMs: 200, eachMs: 0.5 })
  for (const perMs of [0.2, 0.4]) {
    service.run(perMs, 3000)
    t.equal(service.run(perMs, 5000).refused, 0, `commits of 200 ms, ${perMs * 1000}/s`)
  }
  // Each commit takes all that wait: from the beginning, however slow the disk.
  for (const perMs of [0.01, 0.04, 0.1])
    t.equal(
      play({ commitMs: 500, eachMs: 0.5, isAhead: true }).run(perMs, 20_000).refused,
      0,
      `500 ms, ${perMs * 1000}/s`,
    )
})

t.test(
  'where little CPU is left, few callbacks are a queue, and none is let in to wait for long',
  async t => {
    let now = 0
    const admission = createAdmission(() => now)
    const queue: { readonly admitted: AdmittedCallback; readonly at: number }[] = []
    /** One comes every so many ms, and one is stored every 50. */
    const run = (everyMs: number, forMs: number) => {
      const waits: number[] = []
      let refused = 0
      for (const end = now + forMs; now < end; now += 1) {
        const admitted = now % everyMs === 0 ? admission.admit(300) : undefined
        if (admitted === null) refused += 1
        else if (admitted?.noteBodyRead()) queue.push({ admitted, at: now })
        const first = now % 50 === 0 ? queue.shift() : undefined
        first?.admitted.noteStored()
        first?.admitted.end()
        if (first !== undefined) waits.push(now - first.at)
      }
      return { stored: waits.length, refused, longest: Math.max(...waits) }
    }
    t.equal(run(60, 10_000).refused, 0, 'what it can carry')
    run(25, 10_000)
    const { stored, refused, longest } = run(25, 10_000)
    t.equal(stored, 200, 'there is always one to store')
    t.ok(refused > 180, `${refused} refused`)
    t.ok(longest <= 1000, `${longest} ms`)
    run(1000, 2000)
    t.equal(run(60, 5000).refused, 0, 'it is over at once')
  },
)

t.test('many times as many: what is let in is stored soon, and the store has enough to do', async t => {
  const played = (
    [
      [20, { commitMs: 1, eachMs: 0.5 }],
      [14, { commitMs: 20, eachMs: 0.7 }],
      [20, { commitMs: 200, eachMs: 0.5 }],
      [5, { commitMs: 2, eachMs: 2 }],
      [3, { commitMs: 2, eachMs: 3 }],
      [4, { commitMs: 500, eachMs: 0.5, isAhead: true }],
      [4, { commitMs: 1000, eachMs: 0.5, isAhead: true }],
      [0.2, { commitMs: 2, eachMs: 10 }],
    ] as const
  ).map(([perMs, store]) => {
    const service = play(store)
    service.run(0.1, 1000)
    const phases = [
      service.run(perMs, 1000),
      service.run(perMs, 5000),
      service.run(0, 1000),
      service.run(0.1, 3000),
    ]
    return phases
      .map(({ stored, hurried, refused, p99Ms }) => `${stored} ${hurried} ${refused} ${p99Ms} ms`)
      .join(', ')
  })
  // Stored, how many of them are not to wait for a verdict, refused, and how long nearly all waited: in the first second, the next five, a second without any, and three as before.
  t.same(played, [
    '1895 1895 17702 204 ms, 9934 9934 90066 203 ms, 404 404 0 203 ms, 299 0 0 2 ms',
    '1185 1183 12385 327 ms, 6290 6290 63753 403 ms, 391 391 0 323 ms, 296 0 0 44 ms',
    '533 533 18992 656 ms, 5502 5502 94012 899 ms, 998 0 0 899 ms, 274 0 0 419 ms',
    '429 423 4373 515 ms, 2360 2360 22430 857 ms, 409 409 0 821 ms, 299 0 0 4 ms',
    '302 298 2571 771 ms, 1630 1630 13241 841 ms, 257 132 0 816 ms, 299 0 0 5 ms',
    '50 49 3537 1507 ms, 1971 1971 17544 1997 ms, 635 533 0 1998 ms, 463 362 52 1997 ms',
    '1 0 3587 1001 ms, 659 659 19488 3256 ms, 365 0 0 3256 ms, 2 0 41 1992 ms',
    '93 0 0 749 ms, 401 263 456 2543 ms, 148 148 0 2216 ms, 323 0 0 2548 ms',
  ])
})

t.test('once one was refused no answer waits for its verdict, until the queue is drained', async t => {
  let now = 0
  const admission = createAdmission(() => now)
  const calm = admission.admit(300)
  t.ok(admission.hasUnstored())
  t.equal(calm?.noteStored(), Number.POSITIVE_INFINITY)
  t.notOk(admission.hasUnstored())
  const all: (AdmittedCallback | null)[] = []
  while (!all.includes(null)) all.push(admission.admit(300))
  t.equal(all.length, 513, 'a process that has just started takes 512 at once')
  for (const each of all) each?.end()
  // It counts as drained once it was short for more than 100 ms, and is full again by a burst.
  const waits = [1, 101, 102].map(at => {
    now = at
    return admission.admit(300)?.noteStored()
  })
  t.same(waits, [100, 100, Number.POSITIVE_INFINITY])
})

t.test(
  'a long turn of the event loop, in which nobody comes, does not let in another burst; a pause does',
  async t => {
    let now = 0
    const admission = createAdmission(() => now)
    const fill = (): readonly AdmittedCallback[] => {
      const all: AdmittedCallback[] = []
      for (let one = admission.admit(300); one !== null; one = admission.admit(300)) {
        t.ok(one.noteBodyRead())
        all.push(one)
      }
      return all
    }
    for (let n = 0; n < 64; n += 1) admission.admit(300)?.end()
    const burst = fill()
    t.equal(burst.length, 256)
    // One a ms: 200 are stored within 200 ms.
    for (const each of burst.slice(0, 200)) {
      now += 1
      each.noteStored()
    }
    now += 250
    const more = fill()
    t.ok(more.length > 100 && more.length < 150, `${more.length} beside the 56 that are left`)
    for (const each of [...burst, ...more]) each.end()
    now += 600
    t.equal(fill().length, 256)
  },
)

t.test('memory: long bodies are fewer; those of unknown length count by what has come of them', async t => {
  const open = () => createAdmission(() => 0)
  const count = (octets: number, come?: number) => {
    const admission = open()
    const all: AdmittedCallback[] = []
    for (;;) {
      const admitted = admission.admit(octets)
      if (come !== undefined && admitted?.noteOctets(come) === false) return { admission, all }
      if (admitted === null || !admitted.noteBodyRead() || all.length === 10_000) return { admission, all }
      // Stored, and waiting for its verdict.
      admitted.noteStored()
      all.push(admitted)
    }
  }
  const short = count(300).all.length
  const long = count(BODY_LIMIT).all.length
  t.ok(short > 2000 && short < 4100, `${short} usual ones`)
  t.equal(long, 63, 'of the longest, as many as have room: what one held for its body is not counted twice')
  t.equal(count(Number.POSITIVE_INFINITY, 65_536).all.length, 63)
  t.equal(count(Number.POSITIVE_INFINITY, 300).all.length, short)
  t.equal(count(0).all.length, 4096, 'of those without a body')
  t.ok(open().admit(1e9), 'one that is too long is refused as that')
  const gone = open().admit(Number.POSITIVE_INFINITY)
  gone?.end()
  t.equal(gone?.noteOctets(300), false, 'what comes behind its end is not held')
  const { admission, all } = count(BODY_LIMIT)
  all[0]?.end()
  all[0]?.end()
  t.ok(admission.admit(BODY_LIMIT)?.noteBodyRead(), 'one is answered: there is room for one')
  t.notOk(admission.admit(BODY_LIMIT)?.noteBodyRead(), 'and for no other')
})

t.test('bodies that are slow to come keep nobody out, and count again once they have come', async t => {
  let now = 0
  const admission = createAdmission(() => now)
  const slow = Array.from({ length: 200 }, () => admission.admit(60_000))
  t.notOk(slow.includes(null))
  for (now = 1000; now < 2000; now += 5) {
    const quick = admission.admit(300)
    if (!t.ok(quick?.noteBodyRead(), `after ${now} ms`)) return
    quick?.end()
  }
  t.notOk(admission.hasUnstored())
  const come = slow.filter(each => each?.noteBodyRead()).length
  t.ok(admission.hasUnstored())
  t.ok(come > 50 && come < 70, `${come} of them have room`)
  t.equal(admission.admit(300)?.noteBodyRead() ?? false, true)
  for (const each of slow) each?.end()
  t.ok(admission.admit(BODY_LIMIT)?.noteBodyRead())
})

t.test(
  'a callback that is never stored, because its body is wrong or its connection breaks, counts no longer',
  async t => {
    const admission = createAdmission(() => 0)
    for (let n = 0; n < 10_000; n++) {
      const admitted = admission.admit(300)
      if (admitted === null) return t.fail(`the ${n}th was refused`)
      admitted.end()
      admitted.noteStored()
    }
  },
)

t.test('few that have waited for long are a standing queue, in which no answer waits', async t => {
  let now = 0
  const admission = createAdmission(() => now)
  const all: (AdmittedCallback | null)[] = []
  for (; now <= 2500; now += 50) {
    const admitted = admission.admit(300)
    t.ok(admitted?.noteBodyRead())
    all.push(admitted)
  }
  t.ok(all.length < 64)
  t.equal(all[0]?.noteStored(), 100)
})

t.test('a body that was slow to come has waited since it has come, not since its head', async t => {
  let now = 0
  const admission = createAdmission(() => now)
  const coming: (AdmittedCallback | null)[] = []
  const come: AdmittedCallback[] = []
  for (; now <= 5000; now += 50) {
    coming.push(admission.admit(300))
    for (const each of come.splice(0)) {
      t.equal(each.noteStored(), Number.POSITIVE_INFINITY)
      each.end()
    }
    // Its body takes a second, and it is stored soon behind it.
    const first = coming.length > 20 ? coming.shift() : undefined
    if (first?.noteBodyRead()) come.push(first)
  }
  t.equal(come.length, 1)
})

t.test('octets are counted as they come, and what nobody listens to any more is thrown away', async t => {
  const stated = new PassThrough()
  t.equal(countOctets(3, stated), stated)
  const body = new PassThrough()
  const come: number[] = []
  const counted = countOctets(Number.POSITIVE_INFINITY, body, octets => {
    come.push(octets)
    return octets < 400
  })
  for (let n = 0; n < 5; n += 1) body.write('x'.repeat(100))
  t.equal(String(await once(counted.resume(), 'data')).length, 100)
  body.end()
  await once(body, 'end')
  t.same(come, [100, 200, 300, 400])
})
