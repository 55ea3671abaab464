import t from 'tap'
import { countLeftOut, isRefused, refuseBounced } from '../../src/bounces/refusing.ts'
import type { Acceptance, Outbox } from '../../src/outbox/outbox.ts'
import { sample } from '../outbox/samples.ts'
import { viewOf } from '../rigs/view.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 10, 20)
const clock = { now: () => NOW }

const LINK = { channel: 'email', kind: 'registration-activation', purpose: 'link' } as const
const ALARM = { channel: 'email', kind: 'member-alarm', purpose: 'alarm' } as const
const FILE = { channel: 'email', kind: 'file', purpose: 'file' } as const
const CODE = { channel: 'email', kind: 'activation-code', purpose: 'code' } as const
const RESET = { channel: 'email', kind: 'password-reset', purpose: 'link' } as const

t.test('what is refused, how long after the mails that came back', async t => {
  for (const [message, ages, isSo] of [
    [LINK, [], false],
    [LINK, [0], true],
    [LINK, [15 * MINUTE - 1], true],
    [LINK, [15 * MINUTE], false],
    [LINK, [HOUR + DAY, HOUR], true],
    [LINK, [HOUR + DAY + 1, HOUR], false],
    [LINK, [2 * DAY, DAY - 1], false],
    [LINK, [DAY, DAY - 1], true],
    [LINK, [DAY + 1, DAY], false],
    [LINK, [3 * DAY, 20 * HOUR, 2 * HOUR], true],
    [ALARM, [0], false],
    [ALARM, [HOUR - 1, 0], false],
    [ALARM, [HOUR, 0], true],
    [ALARM, [HOUR, 1, 0], true],
    [ALARM, [DAY + HOUR, DAY - 1], true],
    [ALARM, [DAY + HOUR, DAY], false],
    [ALARM, [3 * DAY, 0], true],
    [FILE, [HOUR, 0], true],
    [FILE, [0], false],
    [CODE, [HOUR, 0], false],
    [RESET, [HOUR, 0], false],
    [{ ...ALARM, channel: 'sms' }, [HOUR, 0], false],
  ] as const)
    t.equal(
      isRefused(
        sample(clock, message).message,
        ages.map(age => NOW - age),
        NOW,
      ),
      isSo,
      `${message.channel} ${message.kind} ${ages.map(age => age / MINUTE).join()}`,
    )
})

const { readSummary } = viewOf().queries
const summaryOf = async (sent: number, bounced: number) => ({
  ...(await readSummary(0)),
  counts: [
    { ...LINK, state: 'sent', count: sent - 5 },
    { ...ALARM, state: 'sent', count: 5 },
    { ...ALARM, state: 'refused', count: 50 },
    { ...ALARM, channel: 'sms', state: 'sent', count: 50 },
  ] as const,
  bounced,
  leftOut: 3,
})

t.test('each message of several has its own answer; while a fifth comes back, all are stored', async t => {
  const asked: unknown[] = []
  const acceptWhen = (sent: number, bounced: number) =>
    refuseBounced(
      {
        accept: async (messages: readonly Acceptance[]) =>
          messages.map(({ message }) => ({ is: 'in-progress', id: message.recipient })),
        memos: {
          async readMemos(names: readonly string[]) {
            asked.push(names.length)
            return new Map(names.slice(0, 1).map(name => [name, JSON.stringify([NOW])]))
          },
        },
        queries: {
          async readSummary(...since: readonly number[]) {
            asked.push(since)
            return summaryOf(sent, bounced)
          },
        },
      } as unknown as Outbox,
      clock.now,
    )
  const given = ['bob', 'ann', 'eve', 'ann'].map((recipient, at) =>
    sample(clock, { ...(at === 0 ? CODE : LINK), recipient }),
  )
  const answers = async (sent: number, bounced: number) =>
    (await acceptWhen(sent, bounced)(given)).map(each => (each.is === 'in-progress' ? each.id : each.is))
  t.same(await answers(20, 4), ['bob', 'bounced', 'eve', 'bounced'])
  t.same(asked, [2, [NOW - HOUR]])
  t.same(await answers(20, 5), ['bob', 'ann', 'eve', 'ann'])
  t.same(await answers(19, 19), ['bob', 'bounced', 'eve', 'bounced'], 'so few prove nothing')
  asked.length = 0
  t.match(await acceptWhen(20, 4)(given.slice(0, 1)), [{ id: 'bob' }])
  t.match(await acceptWhen(20, 4)(given.slice(2, 3)), [{ is: 'bounced' }])
  t.same(asked, [1, [NOW - HOUR]], 'nothing is asked about a code')
  t.equal(countLeftOut(await summaryOf(20, 4)), 3)
  t.equal(countLeftOut(await summaryOf(20, 5)), 0)
})
