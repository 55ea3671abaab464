import t from 'tap'
import { createRefusedRecipients } from '../../src/delivery/refused-recipients.ts'
import type { Outcome } from '../../src/providers/provider.ts'

const denied = {
  is: 'retry',
  whose: 'ours',
  code: '554 5.7.1',
  reply: 'relaying denied',
  perhapsRecipient: true,
} as const satisfies Outcome

const SENT: Outcome = { is: 'sent', reply: '250' }

t.test('what one recipient meets, however often, is not ours to mend; what three meet is', async t => {
  const refused = createRefusedRecipients()
  for (let n = 0; n < 10; n += 1)
    t.match(refused.judgeOutcome('smtp', denied, 'a@x.test'), { whose: 'later' })
  t.match(refused.judgeOutcome('smtp', denied, 'b@x.test'), { whose: 'later' })
  t.match(
    refused.judgeOutcome('smtp', { ...denied, code: '550 5.7.1' }, 'c@x.test'),
    { whose: 'later' },
    'another code',
  )
  t.match(refused.judgeOutcome('other', denied, 'c@x.test'), { whose: 'later' }, 'another provider')
  t.same(refused.judgeOutcome('smtp', denied, 'c@x.test'), denied)
  t.same(refused.judgeOutcome('smtp', denied, 'a@x.test'), denied, 'for all of them from now on')
})

t.test('a message that is sent in between shows that the provider takes others', async t => {
  const refused = createRefusedRecipients()
  for (let n = 0; n < 100; n += 1) {
    t.match(refused.judgeOutcome('smtp', denied, `a${n}@x.test`), { whose: 'later' })
    t.match(refused.judgeOutcome('smtp', denied, `b${n}@x.test`), { whose: 'later' })
    refused.judgeOutcome('smtp', SENT, 'ann@example.com')
  }
})

t.test('everything else stays what it is', async t => {
  const refused = createRefusedRecipients()
  const ours: Outcome = { is: 'retry', whose: 'ours', code: '535', reply: 'no' }
  const late: Outcome = { ...denied, whose: 'later' }
  for (const outcome of [ours, late, SENT]) t.same(refused.judgeOutcome('smtp', outcome, 'a@x.test'), outcome)
  for (let n = 0; n < 500; n += 1) refused.judgeOutcome('smtp', { ...denied, code: `5${n}` }, 'a@x.test')
})
