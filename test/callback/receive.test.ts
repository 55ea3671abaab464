import t from 'tap'
import type { Caller } from '../../src/callback/authenticate.ts'
import type { CallbackBody } from '../../src/callback/body.ts'
import { createReceiver, type ReceiverOptions } from '../../src/callback/receive.ts'
import type { Verdict } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import { type Acceptance, type Accepted, BacklogFull, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { until } from '../rigs/until.ts'
import { enterVirtualTime, settled } from '../rigs/virtual-time.ts'

const CALLER = { channel: 'email', corpId: 'corp' } as Caller
const BODY: CallbackBody = { to: 'ann@example.com, bob@example.com', subject: 'x', email_param: { type: 5 } }

interface Given {
  readonly accept?: (messages: readonly Acceptance[]) => Promise<readonly Accepted[]>
  readonly answerWithinMs?: number
  /** The service's clock. */
  readonly now?: () => number
  readonly room?: boolean
  /** Hears of each area code that is read. */
  readonly areas?: unknown[]
  readonly more?: Partial<ReceiverOptions>
  /** Announced while the message is being handed over. */
  readonly atOnce?: Verdict
}

/** A receiver of two recipients, over a store and a delivery that do as they are told. */
function open(given: Given = {}) {
  const calls: string[] = []
  const verdicts = createVerdicts()
  const begun: string[] = []
  let listening = 0
  const delivery: ReceiverOptions['delivery'] = {
    reservePlace: (_channel, purpose) => {
      calls.push(`reserve ${purpose}`)
      return given.room === false ? undefined : { token: `t${calls.length}`, until: 1e15 }
    },
    releasePlace: () => void calls.push('unreserve'),
    submit: ({ message, lease, groupKey }) => {
      calls.push(lease === undefined ? `store ${groupKey}` : 'begin')
      begun.push(message.id)
      if (given.atOnce !== undefined) verdicts.announce(message.id, given.atOnce)
    },
    wake() {},
  }
  const stored = async (messages: readonly Acceptance[]) =>
    messages.map((): Accepted => ({ is: 'stored', superseded: [] }))
  const tell = (event: object) => void calls.push(Object.values(event).join(' '))
  const options: ReceiverOptions = {
    accept: given.accept ?? stored,
    delivery,
    pollVerdict: id => void calls.push(`poll ${id}`),
    verdicts: {
      ...verdicts,
      wait: (id, heard) => {
        listening += 1
        let over = false
        const end = () => {
          if (!over) listening -= 1
          over = true
        }
        const stop = verdicts.wait(id, verdict => {
          end()
          heard(verdict)
        })
        return () => {
          end()
          stop()
        }
      },
    },
    interpret: () => ({
      ok: true,
      kind: 'activation-code',
      known: true,
      purpose: 'code',
      content: { params: { code: '1' }, words: 'ours' },
      validityMs: 600_000,
    }),
    recipients: (_channel, to, area) => {
      given.areas?.push(area)
      const valid = to.split(', ').map(each => ({ to: each, masked: '***' }))
      return { valid, invalid: 0, why: 'recipient' }
    },
    render: ({ id, recipient, content, expiresAt }) => ({
      channel: 'email',
      content,
      id,
      to: recipient,
      raw: Buffer.alloc(0),
      expiresAt,
    }),
    keys: {
      dedupeKey: () => 'd',
      groupKey: (_channel, recipient) => `group of ${recipient}`,
      recipientHash: () => 'r',
      destinationHash: () => 'w',
      bucketHash: () => 'b',
    },
    destinationOf: () => 'w',
    charges: () => [],
    clock: { now: given.now ?? Date.now },
    maxRecipients: 10,
    answerWithinMs: given.answerWithinMs ?? 100,
    emit: createEmitter([
      {
        'over-quota': tell,
        'near-quota': tell,
        newcomer: tell,
        duplicate: tell,
        final: tell,
        unrenderable: tell,
        'store-failed': ({ doing, error }) => void calls.push(`${doing} ${error.name}`),
      },
    ]),
    ...given.more,
  }
  return { receive: createReceiver(options), calls, verdicts, begun, listening: () => listening }
}

t.test('it is answered when every verdict is known', async t => {
  const { receive, verdicts, begun } = open({ answerWithinMs: 30_000 })
  const answered = receive(CALLER, BODY)
  await until(() => begun.length === 2, 'both are handed over')
  const [one = '', other = ''] = begun
  verdicts.announce(one, { is: 'final', state: 'sent', answer: null })
  await settled()
  verdicts.announce(other, { is: 'final', state: 'refused', answer: 'recipient' })
  t.match((await answered).answer, { err_code: 0, err_msg: '1 of 2 recipients refused' })
})

t.test('what cannot be stored is answered at once', async t => {
  const fail = () => {
    throw new Error('a bug')
  }
  for (const [more, err_code, err_msg, kind, said = []] of [
    [{ interpret: () => ({ ok: false, pointer: '/x', why: 'wrong' }) }, 4002011, '/x: wrong', 'none'],
    [{ maxRecipients: 1 }, 4002012, '/to: more than 1 recipients', 'activation-code'],
    [
      { render: fail },
      4002011,
      'the message cannot be put into words',
      'activation-code',
      ['unrenderable email activation-code Error: a bug'],
    ],
  ] as const satisfies readonly (readonly [Partial<ReceiverOptions>, ...unknown[]])[]) {
    const { receive, calls } = open({ more })
    const answer = { status: 400, err_code, err_msg, retryAfter: undefined }
    t.strictSame([await receive(CALLER, BODY), calls], [{ answer, kind, ids: [] }, said])
  }
})

t.test('an area code is a text or a number; a blank one, and whatever else, is none', async t => {
  const areas: unknown[] = []
  const { receive } = open({ areas, atOnce: { is: 'pending' } })
  for (const area_code of [86, ' 86 ', ' ', null, ['86']]) await receive(CALLER, { ...BODY, area_code })
  t.same(areas, ['86', '86', undefined, undefined, undefined])
})

t.test('it is answered 0 at the deadline when a verdict is not known', async t => {
  const time = enterVirtualTime(t)
  const { receive, listening } = open({ now: time.now, answerWithinMs: 2000 })
  let isAnswered = false
  const answered = receive(CALLER, BODY).finally(() => (isAnswered = true))
  await settled()
  time.tick(1999)
  await settled()
  t.notOk(isAnswered)
  time.tick(1)
  t.match((await answered).answer, { err_code: 0, err_msg: '' })
  t.equal(listening(), 0, 'and nobody waits any longer')
})

t.test('what the store took is no longer left for the verdicts', async t => {
  const time = enterVirtualTime(t)
  const beganAt = time.now()
  const arrived: number[] = []
  const { receive, begun } = open({
    now: time.now,
    answerWithinMs: 3000,
    async accept(messages) {
      arrived.push(...messages.map(({ message }) => message.arrivedAt))
      time.tick(2990)
      return messages.map((): Accepted => ({ is: 'stored', superseded: [] }))
    },
  })
  const answered = receive(CALLER, BODY)
  await until(() => begun.length === 2, 'both are handed over')
  t.same(arrived, [beganAt, beganAt], 'by the clock of the service')
  time.tick(10)
  t.match((await answered).answer, { err_code: 0, err_msg: '' })
})

t.test('who is hurried waits no longer than that for the verdicts', async t => {
  const time = enterVirtualTime(t)
  const { receive } = open({ now: time.now, answerWithinMs: 30_000 })
  const answered = receive(CALLER, BODY, () => 20)
  await settled()
  time.tick(20)
  t.match((await answered).answer, { err_code: 0 })
})

t.test('a verdict that is there before its message is handed over is heard, and nobody waits', async t => {
  const time = enterVirtualTime(t)
  for (const atOnce of [{ is: 'pending' }, { is: 'final', state: 'sent', answer: null }] as const) {
    const { receive } = open({ now: time.now, atOnce, answerWithinMs: 30_000 })
    let isAnswered = false
    const answered = receive(CALLER, BODY).finally(() => (isAnswered = true))
    await settled()
    t.ok(isAnswered, atOnce.is)
    time.tick(30_000)
    t.match((await answered).answer, { err_code: 0, err_msg: '' })
  }
})

t.test(
  'without a place in memory the delivery hears of it, with the group; while its verdict is far nobody waits',
  async t => {
    const { receive, calls } = open({ room: false, atOnce: { is: 'pending' }, answerWithinMs: 30_000 })
    t.match((await receive(CALLER, BODY)).answer, { err_code: 0 })
    t.same(calls.slice(2), ['store group of ann@example.com', 'store group of bob@example.com'])
  },
)

t.test('what the store cannot take is 503, and gives its places back, as a fault does', async t => {
  const fail = () => Promise.reject(new Error('a bug'))
  const faulty = open({ accept: fail })
  await t.rejects(faulty.receive(CALLER, BODY), { message: 'a bug' })
  t.same(faulty.calls.slice(2), ['unreserve', 'unreserve'])
  for (const accept of [fail, async () => [{ is: 'refused' }, { is: 'refused' }] as const]) {
    const full = open({ room: false, accept })
    await full.receive(CALLER, BODY).catch(() => {})
    t.same(full.calls.slice(2), [], 'there was no place')
  }
  for (const error of [new StoreUnavailable(quote('full disk')), new BacklogFull('full')]) {
    const { receive, calls, listening } = open({ accept: () => Promise.reject(error) })
    t.match(await receive(CALLER, BODY), {
      answer: { status: 503, err_code: 5031002, retryAfter: 5 },
      ids: [],
    })
    t.same(calls.slice(2), ['unreserve', 'unreserve', `accept ${error.name}`])
    t.equal(listening(), 0)
  }
})

t.test(
  'a message that the store cannot hold is refused for its content, and its neighbour is not',
  async t => {
    const { receive, calls } = open({
      accept: async () => [{ is: 'stored', superseded: [] }, { is: 'refused' }],
    })
    t.match((await receive(CALLER, BODY)).answer, { err_code: 0, err_msg: '1 of 2 recipients refused' })
    t.same(calls.slice(2), ['begin', 'unreserve'])
    const alone = open({ accept: async () => [{ is: 'refused' }] })
    t.match((await alone.receive(CALLER, { ...BODY, to: 'ann@example.com' })).answer, {
      status: 400,
      err_code: 4002011,
      err_msg: 'the message cannot be stored',
    })
  },
)

t.test(
  'mail to an address that mails came back from is refused for its recipient, as its twin was',
  async t => {
    const refused = { is: 'finished', id: 'a', state: 'refused', answer: 'recipient' } as const
    for (const [accepted, err_msg] of [
      [{ is: 'bounced' }, 'mail to this address came back: it is refused for a while'],
      [refused, 'refused by the provider'],
    ] as const) {
      const { receive } = open({ accept: async () => [accepted], answerWithinMs: 30_000 })
      const { answer } = await receive(CALLER, { ...BODY, to: 'ann@example.com' })
      t.match(answer, { err_code: 4002012, err_msg })
    }
  },
)

t.test('each quota that is nearly used up is told, and how many numbers of a country are new', async t => {
  const nearing = ['email-minute', 'email-day']
  const { receive, calls } = open({
    accept: async () => [{ is: 'stored', superseded: [], nearing, newcomers: 2.5 }],
  })
  await receive(CALLER, { ...BODY, to: 'ann@example.com' })
  const near = 'near-quota email'
  t.same(calls.splice(0).slice(1), [`${near} email-minute ***`, `${near} email-day ***`, 'begin'])
  await receive({ ...CALLER, channel: 'sms' }, { to: '+4915112345678', sms_param: { type: 1 } })
  const told = ['near-quota sms email-minute ***', 'near-quota sms email-day ***', 'newcomer 49 2.5']
  t.same(calls.slice(1), [...told, 'begin'])
})

t.test('duplicates and messages over a quota give their places back', async t => {
  const { receive, calls, verdicts, listening } = open({
    answerWithinMs: 30_000,
    accept: async () => [
      { is: 'in-progress', id: 'a' },
      { is: 'over-quota', quota: 'recipient-day', retryAfterSeconds: 60 },
    ],
  })
  verdicts.announce('a', { is: 'final', state: 'sent', answer: null })
  const { answer, ids } = await receive(CALLER, BODY)
  t.match(answer, { err_code: 0, err_msg: '1 of 2 recipients refused' })
  t.equal(ids[0], 'a', 'a duplicate has the id of the message that it repeats')
  t.equal(ids.length, 2)
  t.same(calls.slice(2), [
    'unreserve',
    'duplicate email activation-code in-progress',
    'poll a',
    'unreserve',
    'over-quota email activation-code recipient-day ***',
  ])
  t.equal(listening(), 0, 'nobody waits for a message that was not stored')
})

t.test('a recipient who was refused stays so when the delivery ends before the others are known', async t => {
  const { receive, verdicts, begun } = open({
    answerWithinMs: 30_000,
    accept: async () => [{ is: 'stored', superseded: [] }, { is: 'bounced' }],
  })
  const answered = receive(CALLER, BODY)
  await until(() => begun.length === 1, 'the other one is handed over')
  await settled()
  verdicts.end()
  t.match((await answered).answer, { err_code: 0, err_msg: '1 of 2 recipients refused' })
})

t.test('who waits for a superseded code is told', async t => {
  const { receive, calls, verdicts } = open({
    accept: async () => [
      { is: 'stored', superseded: ['older'] },
      { is: 'stored', superseded: [] },
    ],
  })
  const heard = new Promise(resolve => verdicts.wait('older', resolve))
  await receive(CALLER, BODY)
  t.same(await heard, { is: 'final', state: 'superseded', answer: null })
  t.same(calls.slice(2), ['final older email activation-code superseded ', 'begin', 'begin'])
})

t.test('a store that is stuck is 503; what it stores after all is handed over', async t => {
  const time = enterVirtualTime(t)
  const stores: ((accepted: readonly Accepted[]) => void)[] = []
  const { receive, calls, listening } = open({
    now: time.now,
    accept: () =>
      new Promise(resolve => {
        stores.push(resolve)
      }),
  })
  let isAnswered = false
  const answered = receive(CALLER, BODY).finally(() => (isAnswered = true))
  const other = receive(CALLER, BODY)
  time.tick(4999)
  await settled()
  t.notOk(isAnswered)
  time.tick(1)
  const refused = { status: 503, err_code: 5031002, err_msg: 'the store takes too long', retryAfter: 5 }
  t.match(await answered, {
    answer: refused,
    kind: 'activation-code',
    ids: [/^[0-9a-f]{32}$/, /^[0-9a-f]{32}$/],
  })
  t.match(await other, { answer: refused })
  for (const store of stores) {
    t.match(
      await receive(CALLER, BODY),
      { answer: refused, kind: 'activation-code', ids: [] },
      'no more is put upon it',
    )
    store([
      { is: 'stored', superseded: [] },
      { is: 'stored', superseded: [] },
    ])
    await settled()
  }
  t.same(calls.slice(4), ['begin', 'begin', 'begin', 'begin'])
  t.equal(listening(), 0, 'and nobody listens for its end')
  void receive(CALLER, BODY)
  t.equal(calls.length, 10, 'then it is asked again')
})

t.test('what fails after the answer is heard of', async t => {
  const time = enterVirtualTime(t)
  let fail: ((error: Error) => void) | undefined
  const { receive, calls } = open({
    now: time.now,
    accept: () =>
      new Promise((_resolve, reject) => {
        fail = reject
      }),
  })
  const answered = receive(CALLER, BODY)
  time.tick(5000)
  await answered
  fail?.(new TypeError('a bug'))
  await settled()
  t.same(calls.slice(2), ['unreserve', 'unreserve', 'accept TypeError'])
})
