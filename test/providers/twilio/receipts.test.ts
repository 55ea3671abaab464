import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js'
import { twilio } from '../../../src/providers/twilio.ts'
import { enough, load } from '../../config/settings.ts'
import { type ServiceRig, smsBody, startRig, until } from '../../rigs/service.ts'
import { AUTH_TOKEN } from '../../rigs/twilio-server.ts'

const PUBLIC_URL = 'https://callbacks.example.com'
const PATH = '/receipt/twilio'

function report(
  rig: ServiceRig,
  fields: Record<string, string>,
  more: Record<string, string> = {},
  path = PATH,
) {
  const signature = getExpectedTwilioSignature(AUTH_TOKEN, `${PUBLIC_URL}${path}`, fields)
  return post(rig, new URLSearchParams(fields).toString(), { 'x-twilio-signature': signature, ...more }, path)
}

function post(rig: ServiceRig, body: string, more: Record<string, string> = {}, path = PATH) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
  return rig.ask(path, { method: 'POST', headers, body })
}

async function sent(rig: ServiceRig) {
  await rig.post('sms', smsBody())
  const final = () => rig.events().find(each => each['event'] === 'final' && each['state'] === 'sent')
  await until(() => final() !== undefined, 'the SMS')
  return String(final()?.['provider_id'])
}

const REPORT = { MessageSid: 'SM0123', MessageStatus: 'delivered' }

/** Where Twilio was told to report on its only message. */
function pathOfReport(rig: ServiceRig): string {
  const { pathname, search } = new URL(String(rig.twilio.requests[0]?.form['StatusCallback']))
  return `${pathname}${search}`
}

t.test('Twilio is told where to report, and what it reports is shown and counted', async t => {
  const rig = await startRig(t, { PUBLIC_URL })
  const sid = await sent(rig)
  const id = String(rig.events().find(each => each['event'] === 'final')?.['id'])
  t.equal(rig.twilio.requests.at(-1)?.form['StatusCallback'], `${PUBLIC_URL}${PATH}?id=${id}`)
  const undelivered = { MessageSid: sid, MessageStatus: 'undelivered', ErrorCode: '30005' }
  t.equal((await report(rig, { ...undelivered, To: '+8613800138000' })).status, 204)
  t.match(await rig.page('/console/messages'), 'undelivered 30005')
  const metrics = await rig.page('/metrics')
  const labels = 'status="undelivered",class="recipient",result="recorded",provider="twilio"'
  t.match(metrics, `receipts_total{${labels}} 1\n`)
  t.notMatch(rig.log.join(), '13800138000', 'no number in the log')
})

t.test('what is read of each report', async t => {
  const source = await twilio.openReceipts?.(load({ ...enough, PUBLIC_URL, TWILIO_AUTH_TOKEN: AUTH_TOKEN }))
  const record = readFileSync(join(import.meta.dirname, '../../fixtures/twilio/reports.txt'), 'utf8')
  for (const line of record.trimEnd().split('\n')) {
    const [query = '', form = ''] = line.split(' ')
    const body = Object.fromEntries(new URLSearchParams(form))
    const signature = getExpectedTwilioSignature(AUTH_TOKEN, `${PUBLIC_URL}${PATH}?${query}`, body)
    const read = source?.parseReports({ headers: { 'x-twilio-signature': signature }, body, query })
    t.equal(`${query} ${form} ⇒ ${JSON.stringify(read)}`, line)
  }
})

t.test('a report that is here before Twilio’s answer is kept with its message', async t => {
  const rig = await startRig(t, { PUBLIC_URL, ANSWER_WITHIN_MS: '300' })
  rig.twilio.fault = () => ({ is: 'delay', ms: 1500 })
  await rig.post('sms', smsBody())
  await until(() => rig.twilio.requests.length > 0, 'the request')
  t.equal((await report(rig, REPORT, {}, pathOfReport(rig))).status, 204)
  const receipts = rig.events().filter(each => each['event'] === 'receipt')
  t.match(receipts, [{ result: 'recorded', provider_id: 'SM0123' }])
  t.match(await rig.page('/console/messages'), 'delivered')
})

t.test('a report on a message whose request was lost settles it, and no second SMS goes out', async t => {
  const rig = await startRig(t, { PUBLIC_URL, ANSWER_WITHIN_MS: '300' })
  rig.twilio.fault = () => ({ is: 'reset', accept: true })
  await rig.post('sms', smsBody())
  await until(() => rig.events().some(each => each['outcome'] === 'ambiguous'), 'the end of the attempt')
  t.equal((await report(rig, REPORT, {}, pathOfReport(rig))).status, 204)
  const final = () => rig.events().find(each => each['event'] === 'final')
  await until(() => final() !== undefined, 'the end')
  t.match(final(), { state: 'sent' })
  t.equal(rig.twilio.requests.filter(({ method }) => method === 'POST').length, 1)
})

t.test(
  'a report whose query was changed is forged; one about a message that is not ours is unknown',
  async t => {
    const rig = await startRig(t, { PUBLIC_URL, LOG_LEVEL: 'debug' })
    const fields = { MessageSid: 'SM0123', MessageStatus: 'sent' }
    const [ours, theirs] = ['a', 'b'].map(digit => `${PATH}?id=${digit.repeat(32)}`)
    const signature = getExpectedTwilioSignature(AUTH_TOKEN, `${PUBLIC_URL}${ours}`, fields)
    t.equal((await report(rig, fields, { 'x-twilio-signature': signature }, theirs)).status, 403)
    t.equal((await report(rig, fields, {}, ours)).status, 204)
    const receipts = rig.events().filter(each => each['event'] === 'receipt')
    t.match(receipts, [{ result: 'forged' }, { result: 'unknown' }])
  },
)

t.test('a report without a right signature changes nothing', async t => {
  const rig = await startRig(t, { PUBLIC_URL })
  const sid = await sent(rig)
  const fields = { MessageSid: sid, MessageStatus: 'failed' }
  const forged = [
    await report(rig, fields, { 'x-twilio-signature': 'AAAA' }),
    await report(rig, fields, {
      'x-twilio-signature': getExpectedTwilioSignature('another-token', `${PUBLIC_URL}${PATH}`, fields),
    }),
    // Signed for the host that the request names: only the configured URL counts.
    await report(rig, fields, {
      'x-forwarded-host': 'evil.example',
      'x-twilio-signature': getExpectedTwilioSignature(AUTH_TOKEN, `https://evil.example${PATH}`, fields),
    }),
    await post(rig, 'MessageSid=x'),
  ]
  for (const { status, errCode } of forged) t.same([status, errCode], [403, 4031003])
  t.notMatch(await rig.page('/console/messages'), 'failed<')
  const { status } = await report(rig, fields, { 'x-forwarded-host': 'evil.example' })
  t.equal(status, 204, 'what a request says of its host does not matter')
})

t.test('no more is read than a report has, and nothing that is wrong is a fault', async t => {
  const rig = await startRig(t, { PUBLIC_URL })
  const MessageSid = await sent(rig)
  const padding = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 'x']))
  const most = { MessageSid, MessageStatus: 'sent', ...padding(98) }
  t.equal((await report(rig, most)).status, 204)
  // What was signed with a field that is not read has a wrong signature.
  const fields = { MessageSid, MessageStatus: 'delivered', ...padding(99) }
  t.equal((await report(rig, fields)).status, 403)
  for (const odd of [
    { MessageSid: 'SM00000000000000000000000000000000', MessageStatus: 'sent' },
    { MessageSid: 'SM1', MessageStatus: '<script>' },
    { MessageStatus: 'sent' },
  ])
    t.equal((await report(rig, odd as Record<string, string>)).status, 204)
  const wrongType = await post(rig, '{}', { 'content-type': 'application/json' })
  const large = await post(rig, `a=${'x'.repeat(20_000)}`)
  for (const { status } of [wrongType, large]) t.ok(status >= 400 && status < 500)
})

t.test('without PUBLIC_URL, or with an API key alone, there is no such path', async t => {
  const silent = await startRig(t)
  await sent(silent)
  t.equal(silent.twilio.requests.at(-1)?.form['StatusCallback'], undefined)
  t.equal((await post(silent, 'a=b')).status, 404)
})
