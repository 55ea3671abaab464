import fc from 'fast-check'
import t from 'tap'
import { createInterpreter } from '../../src/messages/interpret.ts'
import { createLinkPolicy } from '../../src/messages/links.ts'
import type { Channel } from '../../src/messages/message.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'
import { createCostLimit } from '../rigs/processor-time.ts'
import { NO_QUOTAS, startRig } from '../rigs/service.ts'
import { messageOf, rendererFor } from '../words/rendering.ts'

/** What plain text may be at most, and a name. */
const LONGEST_TEXT = 32_700
const LONGEST_NAME = 1000
/** So many times as long as with letters of the largest size a thread may be busy with a callback; the worst that is known: 14. */
const MOST_TIMES = 30

const interpret = createInterpreter({
  linkPolicy: createLinkPolicy({ httpsOnly: false, hosts: [] }),
})
const renderer = rendererFor()

/** The fields that hold a stranger's text, each filled with a text. */
const FIELDS: Readonly<Record<string, (text: string) => readonly [Channel, object]>> = {
  plain_email: text => [
    'email',
    { subject: 'x', plain_email: text.slice(0, LONGEST_TEXT), email_param: { type: 77 } },
  ],
  plain_sms: text => ['sms', { plain_sms: text.slice(0, LONGEST_TEXT), sms_param: { type: 77 } }],
  names: text => {
    const name = `${text.slice(0, LONGEST_NAME)}z`
    const param = { type: 8, username: name, corporation: name, productName: name, time: name, email: name }
    return ['email', { subject: name, plain_email: 'text', email_param: param }]
  },
  url: text => [
    'email',
    { subject: 'x', email_param: { type: 1, url: `https://example.com/${text.slice(0, 4000)}` } },
  ],
}

/** Takes a callback whose field holds a text. */
function take(field: string, text: string): () => void {
  const filled = FIELDS[field]?.(text)
  if (filled === undefined) throw new Error(`no field ${field}`)
  const [channel, body] = filled
  return () => {
    const read = interpret(channel, body)
    if (!read.ok) return
    const outgoing = renderer.render(messageOf(channel, read.kind, read.content, { purpose: read.purpose }))
    if (outgoing.channel === 'sms') outgoing.text()
  }
}

const fill = (unit: string) => unit.repeat(Math.ceil(LONGEST_TEXT / unit.length))
/** What fills a field, alone, behind a word of another script, and between a link and a letter. */
const aroundIn = (filling: string) => [filling, `中${filling}`, `a.com x${filling.slice(0, 32_000)}b`]
const excessOf = await createCostLimit(take('plain_email', fill('a')), MOST_TIMES)

const UNITS = (
  '.|-|a.|a-|.a|..|a..|http://|://|//|www.|a@|@|a.b@|%|+|_|é|中|中.|.中|é.|a\u0301|\u0301|a:|:80|evil.com |evil.com|' +
  'a.com/|mailto:|x://|1.|1.1.1.1 |。|。a|\u200b.|𝐚.|http://a |(|("|[|a.b |x.com?|#|xn--|\u00ad-|ａ．|www.a.|@.|.@|-.|-@|' +
  'a/|/|a.com,|"|\'|!a.|\n.a|\n|\r\n|\t| |\u3000|\u200e|\u2066a\u2069|<|&|{{|{%|👍|👨‍👩‍👧| \n|=|\u2800|1,|٣|ا|ا1|\ufe0f'
).split('|')

t.test('no text of the largest size costs many times as much as letters, in any field', async t => {
  for (const field of Object.keys(FIELDS))
    for (const unit of UNITS)
      for (const text of field === 'url' ? [fill(unit)] : aroundIn(fill(unit)))
        t.equal(await excessOf(take(field, text)), null, `${field}: ${JSON.stringify(text.slice(0, 12))}`)
})

t.test('a search for worse units finds none', async t => {
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...UNITS) },
    { weight: 1, arbitrary: anyCharacter },
    { weight: 1, arbitrary: fc.constantFrom('a', 'Z', '0', 'ж', '한', 'ไ', 'a'.repeat(70)) },
  )
  const unit = fc.array(piece, { minLength: 1, maxLength: 5 }).map(pieces => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(FIELDS)), piece, unit, async (field, first, unit) => {
      const excess = await excessOf(take(field, first + fill(unit)))
      if (excess !== null) throw new Error(`${field}: ${excess} times`)
    }),
    { numRuns: 150 },
  )
  t.pass('150 units were tried')
})

t.test('the largest and the nastiest bodies cost the service about as much as letters do', async t => {
  const rig = await startRig(t, NO_QUOTAS)
  const fill = (text: string) => text.repeat(Math.floor(64_000 / text.length))
  const bodies = [
    fill('['),
    fill('{"a":'),
    fill('\\'),
    `"${fill('\\u0063')}"`,
    `{"constructo":"${fill('__proto_')}"}`,
    `{"to":"${fill('a@b,')}","subject":"x","email_param":{"type":1}}`,
    `{"to":"${fill('+861').slice(0, 32_000)}","sms_param":{"type":1,"code":"1"},"subject":"x","email_param":{"type":1,"url":"https://x.test"}}`,
    `{"to":"${fill(',').slice(0, 32_000)}","sms_param":{"type":1,"code":"1"},"subject":"x","email_param":{"type":1,"url":"https://x.test"}}`,
    `{"to":"${fill('x'.repeat(60) + '@').slice(0, 32_000)}","subject":"x","email_param":{"type":1,"url":"https://x.test"}}`,
    `{"to":"a@b.test","subject":"x","plain_email":"${fill('http://a ').slice(0, 32_000)}","email_param":{"type":99}}`,
    `{"to":"a@b.test","subject":"x","plain_email":"${fill('https://').slice(0, 32_000)}","email_param":{"type":99}}`,
    `{"to":"a@b.test","subject":"x","email_param":{"type":1,"url":"https://${fill('a.').slice(0, 5000)}"}}`,
    `{"to":"a@b.test","subject":"x","email_param":{${Array.from({ length: 99 }, (_, at) => `"k${at}":"${'v'.repeat(600)}"`).join(',')}}}`,
    `{"to":"13800138000","sms_param":{"type":99},"plain_sms":"${fill('é“…').slice(0, 20_000)}"}`,
    `{"to":"13800138000${' '.repeat(31_000)}9","sms_param":{"type":1,"code":"1"},"subject":"x","email_param":{"type":1,"url":"https://x.test"}}`,
    `{"to":"13800138000","sms_param":{"type":99},"plain_sms":"a${' '.repeat(32_000)}b"}`,
    `{"to":"13800138000","sms_param":{"type":99},"plain_sms":"a${'\\t'.repeat(32_000)}b"}`,
    `{"to":1${'0'.repeat(60_000)},"sms_param":{"type":1,"code":"1"},"subject":"x","email_param":{"type":1}}`,
  ]
  const post = (channel: Channel, body: string) => async () => {
    const { status } = await rig.post(channel, body)
    if (status < 400 || status >= 500) t.fail(`${status} ${body.slice(0, 40)}`)
  }
  const excessOf = await createCostLimit(post('email', `"${fill('a')}"`), MOST_TIMES)
  for (const body of bodies)
    for (const channel of ['email', 'sms'] as const)
      t.equal(await excessOf(post(channel, body)), null, `${channel} ${JSON.stringify(body.slice(0, 40))}`)
})
