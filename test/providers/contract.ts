import type { Test } from 'tap'
import type { Outgoing } from '../../src/messages/message.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { inEnglish } from '../language/english.ts'
import { until } from '../rigs/until.ts'

/** A provider with the other side of its wire, which can be told how to behave. */
export interface ContractRig {
  /** Two at once. */
  readonly provider: Provider
  /** The same with a wrong password or token. */
  readonly wrongLogin: Provider
  /** A new message, holding `secrets`. */
  readonly message: () => Outgoing
  /** A message of the other channel. */
  readonly foreign: Outgoing
  /** What must not show up in any outcome: passwords, tokens, codes, links, the recipient. */
  readonly secrets: readonly string[]
  /** What the other side cannot say: that content is refused, or whether a login works before a message. */
  readonly lacks?: readonly string[]
  /** Ids of the messages that arrived, in order. */
  readonly arrived: () => readonly string[]
  /** Connections that the other side has open. */
  readonly sockets: () => number
  readonly behave: (how: Behaviour) => void
  /** Stops listening: from now on connecting is refused. */
  readonly goDown: () => Promise<void>
  readonly end: () => Promise<void>
}

export type Behaviour =
  | 'well'
  /** Refuses for good, repeating recipient, code and link. */
  | 'refuse-recipient'
  | 'refuse-content'
  | 'refuse-for-now'
  /** Reads the whole message, which then counts as arrived, and never answers. */
  | 'stall-after-message'
  /** Accepts the whole message and drops the connection instead of answering. */
  | 'drop-after-message'
  /** Answers something that is none. */
  | 'garbage'

/** Nobody aborts. */
export const never = new AbortController().signal

/** What every provider promises: see provider.ts. */
export async function providerContract(t: Test, start: () => Promise<ContractRig>): Promise<void> {
  // Most of them wait for a limit, so they wait together.
  t.jobs = 8
  const tests: Promise<unknown>[] = []
  const test = (name: string, body: (t: Test, rig: ContractRig) => Promise<void>): void => {
    const running = t.test(name, { buffered: true }, async t => {
      const rig = await start()
      t.teardown(async () => rig.end())
      await body(t, rig)
    })
    tests.push(running)
  }
  const send = async (rig: ContractRig, signal = never): Promise<Outcome> =>
    rig.provider.send(rig.message(), signal)

  test('what is accepted is sent, once', async (t, rig) => {
    const message = rig.message()
    const outcome = await rig.provider.send(message, never)
    t.match(inEnglish(outcome), { is: 'sent', reply: String, providerId: /./ })
    t.strictSame(rig.arrived(), [message.id])
  })

  test('as many at once as it says, each arrives once', async (t, rig) => {
    t.ok(rig.provider.concurrency >= 1)
    const messages = Array.from({ length: rig.provider.concurrency * 5 }, rig.message)
    const outcomes = await Promise.all(messages.map(async message => rig.provider.send(message, never)))
    t.ok(outcomes.every(({ is }) => is === 'sent'))
    t.strictSame([...rig.arrived()].sort(), messages.map(({ id }) => id).sort())
    t.ok(rig.sockets() <= rig.provider.concurrency, 'no more connections than messages at once')
  })

  test('a refused recipient is final, and the next message is not', async (t, rig) => {
    rig.behave('refuse-recipient')
    t.match(await send(rig), { is: 'rejected', scope: 'recipient' })
    rig.behave('well')
    t.match(await send(rig), { is: 'sent' })
  })

  test('refused content is final', async (t, rig) => {
    if (rig.lacks?.includes('content')) return
    rig.behave('refuse-content')
    t.match(await send(rig), { is: 'rejected', scope: 'message' })
  })

  test('a refusal for now may be tried again', async (t, rig) => {
    rig.behave('refuse-for-now')
    t.match(await send(rig), { is: 'retry', whose: 'later' })
    rig.behave('well')
    t.match(await send(rig), { is: 'sent' })
    t.equal(rig.arrived().length, 1)
  })

  test('nobody there: to be tried again, and untouched', async (t, rig) => {
    await rig.goDown()
    t.match(await send(rig), { is: 'retry', whose: 'later', untouched: true })
  })

  test('a wrong login is ours to mend', async (t, rig) => {
    const outcome = await rig.wrongLogin.send(rig.message(), never)
    t.match(outcome, { is: 'retry', whose: 'ours' })
    t.strictSame(rig.arrived(), [])
  })

  for (const how of ['stall-after-message', 'drop-after-message'] as const)
    test(`${how}: nobody knows`, async (t, rig) => {
      rig.behave(how)
      t.match(await send(rig), { is: 'ambiguous' })
      t.ok(rig.arrived().length <= 1, 'and it is not sent a second time')
      rig.behave('well')
      t.match(await send(rig), { is: 'sent' }, 'the next one goes out')
    })

  test('garbage is an outcome', async (t, rig) => {
    rig.behave('garbage')
    const outcome = await send(rig)
    t.ok(outcome.is === 'retry' || outcome.is === 'ambiguous', outcome.is)
  })

  test('aborted before it began: untouched, and nothing arrives', async (t, rig) => {
    t.match(await send(rig, AbortSignal.abort()), { is: 'retry', untouched: true })
    t.strictSame(rig.arrived(), [])
  })

  test('aborted in the moment that it begins: untouched, and nothing arrives', async (t, rig) => {
    for (const kept of [false, true]) {
      if (kept) t.match(await send(rig), { is: 'sent' })
      const controller = new AbortController()
      const outcome = send(rig, controller.signal)
      controller.abort()
      t.match(await outcome, { is: 'retry', untouched: true }, kept ? 'by a kept connection' : 'by a new one')
      t.equal(rig.arrived().length, kept ? 1 : 0)
    }
  })

  test('aborted while it waits for a connection: untouched', async (t, rig) => {
    rig.behave('stall-after-message')
    const busy = Array.from({ length: rig.provider.concurrency }, async () => send(rig))
    await until(() => rig.arrived().length === rig.provider.concurrency, 'all connections are busy')
    const controller = new AbortController()
    const waiting = send(rig, controller.signal)
    setTimeout(() => controller.abort(), 20)
    t.match(await Promise.race([waiting, ...busy]), { is: 'retry', untouched: true }, 'at once')
    t.ok((await Promise.all(busy)).every(({ is }) => is === 'ambiguous'))
  })

  test('aborted once it was written: ambiguous', async (t, rig) => {
    rig.behave('stall-after-message')
    const controller = new AbortController()
    const outcome = send(rig, controller.signal)
    await until(() => rig.arrived().length === 1, 'it has arrived')
    controller.abort()
    t.match(await outcome, { is: 'ambiguous', code: 'aborted' })
  })

  test('verify says whether the account works, and sends nothing', async (t, rig) => {
    t.match(await rig.provider.verify(), { ok: true })
    if (!rig.lacks?.includes('check')) t.match(await rig.wrongLogin.verify(), { ok: false, detail: /./ })
    await rig.goDown()
    t.match(await rig.provider.verify(), { ok: false, detail: /./ })
    t.strictSame(rig.arrived(), [])
  })

  test('a probe says whether the way is open, without a message or a login', async (t, rig) => {
    t.equal(await rig.wrongLogin.probe?.(), 'up')
    t.strictSame(rig.arrived(), [])
    await until(() => rig.sockets() === 0, 'it keeps no connection')
    await rig.goDown()
    t.equal(await rig.provider.probe?.(), 'down')
  })

  test('closing ends its connections; afterwards it takes nothing', async (t, rig) => {
    await send(rig)
    t.ok(rig.sockets() > 0)
    await rig.provider.close()
    await until(() => rig.sockets() === 0, 'its connections have ended')
    t.match(await send(rig), { is: 'retry', code: 'closed', untouched: true })
  })

  test('closing ends what is in flight', async (t, rig) => {
    rig.behave('stall-after-message')
    const inFlight = send(rig)
    await until(() => rig.arrived().length === 1, 'it has arrived')
    await rig.provider.close()
    t.match(await inFlight, { is: 'ambiguous' })
  })

  test('no outcome tells a secret', async (t, rig) => {
    const told: unknown[] = [await rig.wrongLogin.send(rig.message(), never), await rig.wrongLogin.verify()]
    const refusals = ['refuse-recipient', 'refuse-content', 'refuse-for-now'] as const
    for (const how of ['well', ...refusals, 'drop-after-message', 'garbage'] as const) {
      rig.behave(how)
      told.push(await send(rig), await rig.provider.verify())
    }
    await rig.goDown()
    told.push(await send(rig), await rig.provider.verify())
    const text = JSON.stringify(told)
    for (const secret of rig.secrets) t.notOk(text.includes(secret), `${secret.slice(0, 6)}…`)
    for (const outcome of told) {
      const { reply = '' } = inEnglish(outcome) as { reply?: string }
      t.ok(reply.length <= 200)
      t.notMatch(reply, /[\p{C}]/u, 'one line')
    }
  })

  test('whether a message fits is known at once, and tells nothing to anybody', async (t, rig) => {
    const { provider } = rig
    if (provider.fits === undefined) return
    t.equal(provider.fits(rig.message()), null)
    t.equal(rig.sockets(), 0, 'nobody was asked')
  })

  test('what has expired is not begun', async (t, rig) => {
    const message = { ...rig.message(), expiresAt: Date.now() - 1000 }
    t.match(await rig.provider.send(message, never), { is: 'retry', untouched: true })
    t.strictSame(rig.arrived(), [])
  })

  test('asked after a lost answer, it never takes a message for absent that arrived', async (t, rig) => {
    const { provider } = rig
    if (provider.lookUp === undefined) return
    const lookUp = async (message: Outgoing) => provider.lookUp?.(message, Date.now() - 1000, never)
    rig.behave('drop-after-message')
    const lost = rig.message()
    t.match(await provider.send(lost, never), { is: 'ambiguous' })
    rig.behave('well')
    t.match((await lookUp(lost))?.is, /^(accepted|not-known)$/)
    t.match((await lookUp(rig.message()))?.is, /^(absent|not-known)$/, 'nor another one for it')
    await rig.goDown()
    t.match(await lookUp(lost), { is: 'unreachable' })
  })

  test('a question about a message can be stopped', async (t, rig) => {
    const { provider } = rig
    if (provider.lookUp === undefined) return
    rig.behave('stall-after-message')
    const controller = new AbortController()
    const asked = provider.lookUp(rig.message(), Date.now() - 1000, controller.signal)
    setTimeout(() => controller.abort(), 20)
    t.match(inEnglish(await asked), { is: 'unreachable', reply: /stopped by us$/ })
  })

  test('a message of another channel is a bug', async (t, rig) => {
    await t.rejects(rig.provider.send(rig.foreign, never), TypeError)
  })
  await Promise.all(tests)
}
