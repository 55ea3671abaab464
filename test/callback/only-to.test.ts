import t from 'tap'
import { createIsNamed, holdOthers } from '../../src/callback/only-to.ts'
import type { Acceptance, ClaimedMessage, Settled } from '../../src/outbox/outbox.ts'
import { NOON, sample, testClock } from '../outbox/samples.ts'

t.test('ONLY_TO names a recipient however it is written, and nobody beside it', async t => {
  const isNamed = createIsNamed(['+8613800138000', 'Ann.Lee@gmail.com', '@qa.example.com', '@gmx.example'])
  const right = [
    '+8613800138000',
    'ann.lee@gmail.com',
    'A.n.n.l.e.e+trial@GoogleMail.com',
    'anybody@qa.example.com',
    'bob@QA.Example.com',
  ]
  const wrong = [
    '+8613800138001',
    '+861380013800',
    'bob@gmail.com',
    'ann.lee@gmail.com.example.net',
    'bob@example.com',
    'bob@x.qa.example.com',
    'bob@eqa.example.com',
    'qa.example.com@example.net',
  ]
  const content = { params: {}, words: 'ours' } as const
  for (const recipient of right) t.ok(isNamed({ recipient, content }), recipient)
  for (const recipient of wrong) t.notOk(isNamed({ recipient, content }), recipient)
  t.notOk(
    createIsNamed(['@ann.fastmail.com'])({ recipient: 'bob@fastmail.com', content }),
    'a domain is no mailbox',
  )
})

t.test('what is for others is held, and what waits for them ends when its turn comes', async t => {
  const clock = testClock(NOON)
  const told: unknown[] = []
  const [ours, theirs] = ['+8613800138000', '+8613800138001'].map(recipient =>
    sample(clock, { channel: 'sms', recipient, lease: { token: 't', until: 1 } }),
  ) as [Acceptance, Acceptance]
  const claimed = (id: string, ambiguous: number, recipient = '+8613800138001') =>
    ({ ...theirs.message, id, recipient, lease: `lease of ${id}`, ambiguous }) as unknown as ClaimedMessage
  const { accept, claim } = holdOthers(
    {
      async accept(given) {
        told.push(given)
        return [{ is: 'stored', superseded: [] }, { is: 'held' }]
      },
      claim: async () =>
        ({
          messages: [claimed('a', 0, '+8613800138000'), claimed('b', 0), claimed('c', 1), claimed('d', 0)],
          settled: [{ id: 'e', channel: 'sms', kind: 'login-code', state: 'expired' }],
        }) as never,
      async settle(id, lease, end) {
        told.push([id, lease, end])
        return { state: id === 'd' ? 'lost' : (end as { readonly state: 'held' }).state } as Settled
      },
    },
    createIsNamed(['+8613800138000']),
    clock,
    event => void told.push(event),
  )
  const memo = { name: 'n', value: 'v', expiresAt: NOON }
  await accept([ours, { ...theirs, memo }])
  const { lease: _lease, ...unleased } = theirs
  const { id, channel, kind } = theirs.message
  t.same(told.splice(0), [
    [ours, { ...unleased, held: true }],
    { type: 'final', id, channel, kind, state: 'held', answer: null },
  ])
  const { messages, settled } = await claim('sms', 10, 1000)
  t.same(
    messages.map(each => each.id),
    ['a'],
  )
  t.same(settled, [
    { id: 'e', channel: 'sms', kind: 'login-code', state: 'expired' },
    { id: 'b', channel, kind, state: 'held' },
    { id: 'c', channel, kind, state: 'unknown' },
  ])
  const records = [{ at: NOON, code: 'ONLY_TO' }]
  t.match(told, [
    ['b', 'lease of b', { to: 'final', state: 'held', answer: null, records }],
    ['c', 'lease of c', { to: 'final', state: 'unknown', answer: null, records }],
    ['d', 'lease of d', { to: 'final', state: 'held', answer: null, records }],
  ])
})
