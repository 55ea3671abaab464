import t from 'tap'
import { findInList, type ListedMessage } from '../../../src/providers/twilio.ts'
import { inEnglish } from '../../language/english.ts'

const SINCE = Date.UTC(2026, 0, 5, 12)
const BODY = 'Your code is 482913. It is valid for 10 minutes.'

const listed = (given: Partial<ListedMessage> = {}): ListedMessage => ({
  sid: 'SM1',
  body: BODY,
  status: 'queued',
  dateCreated: new Date(SINCE + 1000),
  ...given,
})

t.test('a message with our text, created since, is ours', async t => {
  const others = [listed({ sid: 'SM0', body: 'Your code is 111111.' }), listed()]
  t.match(findInList(others, BODY, SINCE), { is: 'accepted', providerId: 'SM1' })
  const trial = listed({ body: `Sent from your Twilio trial account - ${BODY}` })
  t.match(findInList([trial], BODY, SINCE), { is: 'accepted' }, 'a trial account writes in front of it')
  const plain = findInList([listed({ body: "It's 5-6 …" })], 'It’s 5–6 …', SINCE)
  t.match(plain, { is: 'accepted' }, 'characters that Twilio replaces are the same')
  const clocksDiffer = listed({ dateCreated: new Date(SINCE - 20_000) })
  t.match(findInList([clocksDiffer], BODY, SINCE), { is: 'accepted' })
  const failed = findInList([listed({ status: 'failed' })], BODY, SINCE)
  t.match(failed, { is: 'accepted' }, 'taken, whatever came of it')
})

t.test('a message that is not in the list was never taken', async t => {
  t.match(findInList([], BODY, SINCE), { is: 'absent' })
  const others = [
    listed({ body: 'Your code is 482914. It is valid for 10 minutes.' }),
    listed({ dateCreated: new Date(SINCE - 60_000) }),
  ]
  t.match(findInList(others, BODY, SINCE), { is: 'absent' }, 'another text, or the same text before')
})

t.test('where the list does not tell, nobody claims to know', async t => {
  t.match(findInList([listed({ body: '' })], BODY, SINCE), { is: 'not-known' }, 'redacted')
  t.match(findInList([listed({ body: '**REDACTED**' })], BODY, SINCE), { is: 'not-known' })
  for (const body of [null, undefined, 5, {}])
    t.match(findInList([listed({ body: body as null })], BODY, SINCE), { is: 'not-known' }, 'no text')
  for (const dateCreated of [null, new Date(Number.NaN)])
    t.match(findInList([listed({ dateCreated })], BODY, SINCE), { is: 'accepted' }, 'no date')
  const odd = listed({ sid: '\u009b31m', status: '\u202equeued' })
  t.same(inEnglish(findInList([odd], BODY, SINCE)), {
    is: 'accepted',
    reply: 'found in the list of messages, of no known status',
    providerId: undefined,
  })
  const many = Array.from({ length: 200 }, (_, n) => listed({ body: `another ${n}` }))
  t.match(findInList(many, BODY, SINCE), { is: 'not-known' }, 'more than one page')
  t.match(findInList([listed({ body: '', dateCreated: new Date(SINCE - 60_000) })], BODY, SINCE), {
    is: 'absent',
  })
})
