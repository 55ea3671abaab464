import t from 'tap'
import type { Outcome, Provider } from '../../../src/providers/provider.ts'
import { withFallback } from '../../../src/providers/smtp/fallback.ts'
import { ownHost } from '../../rigs/own-host.ts'
import { providerContract } from '../contract.ts'
import { createSmtpServer, LOGIN, mail, openSmtp, smtpContract, urlOf } from './rig.ts'

await t.test('a primary with a dead fallback keeps the contract', async t =>
  providerContract(t, async () => {
    const host = ownHost()
    const server = createSmtpServer({ host, login: LOGIN })
    const { port } = await server.listen()
    const url = urlOf(port, LOGIN, host)
    const open = (url: string, name: 'smtp' | 'smtp-fallback') =>
      openSmtp({ name, url: `${url}?ignoreTLS=true`, connections: 2 })
    const join = (url: string): Provider =>
      withFallback(open(url, 'smtp'), open('smtp://127.0.0.1:1', 'smtp-fallback'), { now: () => 0 })
    const provider = join(url)
    const wrongLogin = join(urlOf(port, { user: LOGIN.user, pass: 'canary-wrong-pass' }, host))
    return {
      ...smtpContract(server, provider, wrongLogin),
      // Its verify wants both to work, so for that the live one stands on both sides.
      provider: {
        ...provider,
        async verify() {
          const both = withFallback(open(url, 'smtp'), open(url, 'smtp-fallback'), { now: () => 0 })
          try {
            return await both.verify()
          } finally {
            await both.close()
          }
        },
      },
    }
  }),
)

/** A provider that answers what it is told, and counts. */
function scripted(name: string, outcomes: Outcome[]): Provider & { readonly asked: () => number } {
  let asked = 0
  return {
    name,
    channel: 'email',
    concurrency: 3,
    asked: () => asked,
    async send(_message, _signal, onAwaitingReply) {
      asked++
      onAwaitingReply?.(() => {})
      return outcomes.length > 1 ? (outcomes.shift() as Outcome) : (outcomes[0] as Outcome)
    },
    verify: async () => ({ ok: name === 'a', detail: 'detail' }),
    close: async () => {},
  }
}

const sent: Outcome = { is: 'sent', reply: '250 ok' }
const later: Outcome = { is: 'retry', whose: 'later', code: '451', reply: '451 later' }
const dead: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: 'refused', untouched: true }
const login: Outcome = { is: 'retry', whose: 'ours', code: '535', reply: '535 wrong', untouched: true }
const ambiguous: Outcome = { is: 'ambiguous', code: 'reply-limit', reply: 'no reply' }
const rejected: Outcome = { is: 'rejected', scope: 'recipient', code: '550', reply: '550 no' }
const never = new AbortController().signal

await t.test('the fallback is asked when the primary did not take the message, and only then', async t => {
  for (const [first, second, outcome, asked] of [
    [sent, sent, { is: 'sent', reply: 'a: 250 ok' }, 0],
    [rejected, sent, { is: 'rejected', reply: 'a: 550 no' }, 0],
    [ambiguous, sent, { is: 'ambiguous', reply: 'a: no reply' }, 0],
    [later, sent, { is: 'sent', reply: 'b: 250 ok' }, 1],
    [dead, sent, { is: 'sent', reply: 'b: 250 ok' }, 1],
    [login, rejected, { is: 'rejected', reply: 'b: 550 no' }, 1],
    [dead, ambiguous, { is: 'ambiguous', reply: 'b: no reply' }, 1],
    [dead, later, { is: 'retry', whose: 'later', code: '451', reply: 'a: refused; b: 451 later' }, 1],
    [dead, login, { is: 'retry', whose: 'ours', code: '535' }, 1],
    [
      login,
      dead,
      { is: 'retry', whose: 'ours', code: '535', reply: 'a: 535 wrong; b: refused', untouched: true },
      1,
    ],
  ] as const) {
    const fallback = scripted('b', [second])
    const both = withFallback(scripted('a', [first]), fallback, { now: () => 0 })
    let waits = 0
    t.match(await both.send(mail(), never, () => waits++), outcome)
    t.equal(fallback.asked(), asked)
    t.equal(waits, 1 + asked, 'whoever is asked says when it waits for a reply')
  }
})

await t.test(
  'what one server lacks is asked of the other, and waits for the one that may have it',
  async t => {
    const lacks: Outcome = { ...rejected, code: 'no-smtputf8', reply: 'no SMTPUTF8', incapable: true }
    for (const [first, second, outcome] of [
      [lacks, sent, { is: 'sent', reply: 'b: 250 ok' }],
      [lacks, dead, { is: 'retry', code: 'ECONNREFUSED', reply: 'b: refused' }],
      [lacks, rejected, { is: 'rejected', code: '550' }],
      [lacks, ambiguous, { is: 'ambiguous' }],
      [lacks, lacks, { is: 'rejected', code: 'no-smtputf8', reply: 'a: no SMTPUTF8' }],
      [dead, lacks, { is: 'retry', code: 'ECONNREFUSED', reply: 'a: refused', untouched: true }],
      [login, lacks, { is: 'retry', whose: 'ours', code: '535' }],
    ] as const) {
      const both = withFallback(scripted('a', [first]), scripted('b', [second]), { now: () => 0 })
      t.match(await both.send(mail(), never), outcome)
    }
    let now = 0
    const primary = scripted('a', [dead, sent])
    const policy = { failures: 1, restMs: 1_000 }
    const both = withFallback(primary, scripted('b', [lacks]), { now: () => now }, policy)
    t.match(await both.send(mail(), never), { is: 'retry', reply: 'a: refused' })
    t.match(await both.send(mail(), never), { is: 'retry', whose: 'later', reply: 'b: no SMTPUTF8' })
    t.equal(primary.asked(), 1, 'it is left alone meanwhile')
    now = 1_000
    t.match(await both.send(mail(), never), { is: 'sent', reply: 'a: 250 ok' })
  },
)

await t.test('untouched and Retry-After hold for both together', async t => {
  const join = async (first: Outcome, second: Outcome): Promise<Outcome> =>
    withFallback(scripted('a', [first]), scripted('b', [second]), { now: () => 0 }).send(mail(), never)
  t.match(await join(dead, dead), { untouched: true })
  t.notOk('untouched' in (await join(later, dead)))
  t.notOk('untouched' in (await join(dead, later)))
  t.match(await join({ ...later, retryAfterMs: 5 }, { ...later, retryAfterMs: 3 }), { retryAfterMs: 3 })
  t.notOk(
    'retryAfterMs' in (await join({ ...later, retryAfterMs: 5 }, later)),
    'the other may be asked before',
  )
})

await t.test('nothing is handed to the fallback once the attempt is aborted', async t => {
  const controller = new AbortController()
  const primary = scripted('a', [dead])
  const fallback = scripted('b', [sent])
  const both = withFallback(
    {
      ...primary,
      async send(message, signal) {
        controller.abort()
        return primary.send(message, signal)
      },
    },
    fallback,
    { now: () => 0 },
  )
  t.match(await both.send(mail(), controller.signal), { is: 'retry' })
  t.equal(fallback.asked(), 0)
})

await t.test('a dead primary is left alone for a while, then tried by one message', async t => {
  let now = 0
  const primary = scripted('a', [dead])
  const both = withFallback(
    primary,
    scripted('b', [sent]),
    { now: () => now },
    { failures: 3, restMs: 1_000 },
  )
  let waits = 0
  const send = async (): Promise<Outcome> => both.send(mail(), never, () => waits++)
  for (let i = 0; i < 10; i++) t.match(await send(), { is: 'sent', reply: /^b: / })
  t.equal(primary.asked(), 3)
  t.equal(waits, 13, 'three times for both, seven times for the fallback')
  now = 999
  await send()
  t.equal(primary.asked(), 3)
  now = 1_000
  await Promise.all([send(), send(), send()])
  t.equal(primary.asked(), 4, 'one of the three')
  now = 2_000
  await send()
  t.equal(primary.asked(), 5)
})

await t.test('a primary that works again is used again', async t => {
  let now = 0
  const primary = scripted('a', [dead, dead, sent])
  const both = withFallback(
    primary,
    scripted('b', [sent]),
    { now: () => now },
    { failures: 2, restMs: 1_000 },
  )
  const names = async (): Promise<string> => (await both.send(mail(), never)).reply.slice(0, 1)
  t.strictSame([await names(), await names(), await names()], ['b', 'b', 'b'])
  now = 1_000
  t.strictSame([await names(), await names()], ['a', 'a'])
})

await t.test(
  'refusals of single messages, and what we end ourselves, do not count as its end; silence does',
  async t => {
    const stopped = (code: string): Outcome => ({ ...dead, code })
    for (const [outcome, asked] of [
      [later, 5],
      [stopped('aborted'), 5],
      [stopped('closed'), 5],
      [stopped('expired'), 5],
      [dead, 2],
      [{ ...later, code: 'command-limit' }, 2],
    ] as const) {
      const primary = scripted('a', [outcome])
      const policy = { failures: 2, restMs: 1_000 }
      const both = withFallback(primary, scripted('b', [sent]), { now: () => 0 }, policy)
      for (let i = 0; i < 5; i++) await both.send(mail(), never)
      t.equal(primary.asked(), asked, outcome.is === 'retry' ? outcome.code : outcome.is)
    }
  },
)

await t.test('two retries are told as one: of whoever has more to say, and of both', async t => {
  const join = async (first: Outcome, second: Outcome): Promise<Outcome> =>
    withFallback(scripted('a', [first]), scripted('b', [second]), { now: () => 0 }).send(mail(), never)
  const account: Outcome = { ...login, scope: 'account' }
  const transport: Outcome = { ...dead, scope: 'transport' }
  t.match(await join(account, transport), { scope: 'account', code: '535' })
  t.match(await join(transport, account), { scope: 'account', code: '535' })
  const { reply } = await join({ ...later, reply: 'x'.repeat(300) }, { ...later, reply: 'y'.repeat(300) })
  t.match(reply, /^a: x+; b: y+$/)
  t.equal(reply.length, 200)
})

await t.test(
  'a primary that takes no more at once is no dead one, and says so beside the fallback',
  async t => {
    const overload = { overload: 'connections', accepted: 5 } as const
    const crowded: Outcome = { ...dead, code: '421', reply: '421 too many', ...overload }
    for (const second of [sent, rejected, later, ambiguous]) {
      const primary = scripted('a', [crowded])
      const both = withFallback(
        primary,
        scripted('b', [second]),
        { now: () => 0 },
        { failures: 2, restMs: 1_000 },
      )
      for (let i = 0; i < 5; i++) t.match(await both.send(mail(), never), { is: second.is, ...overload })
      t.equal(primary.asked(), 5)
    }
    const crowdedToo = withFallback(scripted('a', [dead]), scripted('b', [crowded]), { now: () => 0 })
    t.match(await crowdedToo.send(mail(), never), { is: 'retry', ...overload })
  },
)

await t.test('verify asks both', async t => {
  const both = withFallback(scripted('a', [sent]), scripted('b', [sent]), { now: () => 0 })
  t.strictSame(await both.verify(), { ok: false, detail: 'a: detail; b: detail' })
  const advised = (name: string): Provider => ({
    ...scripted(name, [sent]),
    verify: async () => ({ ok: false, detail: 'detail', next: `mend ${name}` }),
  })
  const nextOf = async (a: Provider, b: Provider) =>
    (await withFallback(a, b, { now: () => 0 }).verify()).next
  t.equal(await nextOf(advised('a'), advised('b')), 'a: mend a; b: mend b')
  t.equal(await nextOf(scripted('a', [sent]), advised('b')), 'b: mend b')
})

await t.test('both together send as many at a time as either, and are closed together', async t => {
  const closed: string[] = []
  const named = (name: string, concurrency: number): Provider => ({
    ...scripted(name, [sent]),
    concurrency,
    close: async () => void closed.push(name),
  })
  for (const [a, b] of [
    [2, 5],
    [5, 2],
  ] as const) {
    const both = withFallback(named('a', a), named('b', b), { now: () => 0 })
    t.equal(both.concurrency, 5)
    await both.close()
  }
  t.same(closed, ['a', 'b', 'a', 'b'])
})

await t.test('two channels are a bug', async t => {
  t.throws(() =>
    withFallback(scripted('a', [sent]), { ...scripted('b', [sent]), channel: 'sms' }, { now: () => 0 }),
  )
})

await t.test('through real servers: the fallback takes what the dead primary could not', async t => {
  const host = ownHost()
  const [first, second] = [createSmtpServer({ host }), createSmtpServer({ host })]
  const ports = [await first.listen(), await second.listen()]
  const [a, b] = (['smtp', 'smtp-fallback'] as const).map((name, i) =>
    openSmtp({ name, url: `smtp://${host}:${ports[i]?.port}?ignoreTLS=true` }),
  ) as [Provider, Provider]
  const both = withFallback(a, b, { now: () => performance.now() })
  t.teardown(async () => Promise.all([both.close(), second.close()]))
  t.match(await both.send(mail(), never), { is: 'sent', reply: /^smtp: 250/ })
  first.act = moment => (moment.step === 'dot' ? { is: 'drop', accept: true } : undefined)
  t.match(await both.send(mail(), never), { is: 'ambiguous', reply: /^smtp: / })
  t.equal(second.mails.length, 0)
  await first.close()
  t.match(await both.send(mail(), never), { is: 'sent', reply: /^smtp-fallback: 250/ })
  t.strictSame([first.mails.length, second.mails.length], [2, 1])
})
