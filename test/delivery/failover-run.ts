import { join } from 'node:path'
import type { Test } from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import type { LookUp, Outcome } from '../../src/providers/provider.ts'
import { testClock } from '../outbox/samples.ts'
import { type FakeCarrier, fakeCarrier, openDelivery, openStore } from './failover-rig.ts'
import { pause } from './rig.ts'
import { seededRandom } from './simulation.ts'

/** What really became of each message, by its id: how many copies reached the phone. */
type Phones = Map<string, number>

/** A carrier that fails in every way, often enough; `isWell`: it takes what it gets, unless an answer is lost. */
function unsteadyCarrier(phones: Phones, random: () => number, isWell: boolean): FakeCarrier {
  const taken = new Set<string>()
  const take = (id: string): void => {
    taken.add(id)
    phones.set(id, (phones.get(id) ?? 0) + 1)
  }
  const outcomes: readonly ((id: string) => Outcome)[] = [
    () => ({ is: 'retry', whose: 'later', code: 'busy', reply: '' }),
    () => ({ is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }),
    () => ({ is: 'retry', whose: 'ours', code: 'password', reply: '' }),
    () => ({ is: 'limit', scope: 'recipient', code: 'minute', reply: '', retryAfterMs: 5000 }),
    () => ({ is: 'limit', scope: 'account', code: 'day', reply: '', retryAfterMs: 5000 }),
  ]
  const carrier = fakeCarrier({ is: 'sent', reply: '' })
  carrier.send = async ({ id }) => {
    await pause(random() * 3)
    const dice = random()
    if (dice < 0.1) {
      if (random() < 0.5) take(id)
      return { is: 'ambiguous', code: 'reply-limit', reply: 'no answer' }
    }
    const failure = outcomes[Math.floor(random() * outcomes.length)]
    if (!isWell && dice < 0.6 && failure !== undefined) return failure(id)
    take(id)
    return { is: 'sent', reply: 'ok', providerId: id }
  }
  carrier.lookUp = ({ id }): LookUp => {
    const dice = random()
    if (dice < 0.2) return { is: 'unreachable', reply: '' }
    if (dice < 0.4) return { is: 'not-known', reply: '' }
    return taken.has(id) ? { is: 'accepted', reply: '' } : { is: 'absent', reply: '' }
  }
  return carrier
}

/** A store that a process lets go of without a word, as when it is killed: its ends are not written any more. */
function killable(outbox: Outbox): { readonly outbox: Outbox; kill(): Promise<void> } {
  let isKilled = false
  const never = new Promise<never>(() => {})
  return {
    outbox: {
      ...outbox,
      settle: (...given) => (isKilled ? never : outbox.settle(...given)),
      claim: (...given) => (isKilled ? never : outbox.claim(...given)),
      beginAttempt: (...given) => (isKilled ? never : outbox.beginAttempt(...given)),
    },
    async kill() {
      isKilled = true
      await outbox.close()
    },
  }
}

/**
 * Messages at random moments, carriers that fail at random, and kills. Says what was lost, and what came twice though
 * nothing in its timeline was left open.
 */
export async function runFailover(
  t: Test,
  { seed, messages, kills }: { readonly seed: number; readonly messages: number; readonly kills: number },
): Promise<void> {
  const random = seededRandom(seed)
  const clock = testClock()
  const phones: Phones = new Map()
  const carriers = {
    first: unsteadyCarrier(phones, random, false),
    second: unsteadyCarrier(phones, random, true),
  }
  const path = join(t.testdir({}), `failover.db`)
  const ids: string[] = []
  for (let life = 0; life <= kills; life += 1) {
    const { outbox, kill } = killable(await openStore(path, clock))
    const { delivery, accept } = openDelivery({ outbox, clock, random }, carriers)
    delivery.start()
    for (let n = 0; n < messages / (kills + 1); n += 1) {
      ids.push((await accept()).id)
      clock.advance(Math.floor(random() * 200))
      if (random() < 0.2) await pause(1)
    }
    if (life < kills) {
      await kill()
      continue
    }
    await settleAll(outbox, ids, () => {
      clock.advance(2000)
      delivery.wake('sms')
    })
    for (const id of ids) await judge(t, outbox, id, phones.get(id) ?? 0)
    await delivery.stop(0, 500)
    await outbox.close()
  }
}

async function settleAll(outbox: Outbox, ids: readonly string[], step: () => void): Promise<void> {
  const open = new Set(ids)
  for (let rounds = 0; open.size > 0 && rounds < 2000; rounds += 1) {
    step()
    await pause(5)
    for (const id of [...open].slice(0, 50))
      if (!['queued', 'sending'].includes((await outbox.queries.findMessage(id))?.state ?? 'queued'))
        open.delete(id)
  }
}

/** A carrier that could be asked has the last word; where none could, a second copy may have gone out. */
async function judge(t: Test, outbox: Outbox, id: string, copies: number): Promise<void> {
  const message = await outbox.queries.findMessage(id)
  const timeline = message?.timeline ?? []
  const ends = timeline.filter(({ outcome }) => outcome === 'ambiguous' || outcome === 'lease-lost')
  // The carrier may have known nothing yet when the process died that had asked it: its answer is not on record then.
  const askedBeforeKill = ends.slice(1).some(({ outcome }) => outcome === 'lease-lost')
  const isOpen =
    askedBeforeKill || timeline.some(each => each.outcome === 'looked-up' && each.code === 'not-known')
  const told = `${id}: ${message?.state}, ${copies} copies, ${JSON.stringify(timeline)}`
  if (copies > 1 && !isOpen) t.fail(`came twice: ${told}`)
  if (copies > 2) t.fail(`came more often than twice: ${told}`)
  if (message?.state === 'sent' && copies === 0) t.fail(`was never sent: ${told}`)
  if (message?.state !== 'sent' && !(message?.state === 'unknown' && ends.length > 0))
    t.fail(`was lost: ${told}`)
}
