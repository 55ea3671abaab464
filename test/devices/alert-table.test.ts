import t from 'tap'
import { createPhoneParser, createRecipientReader } from '../../src/callback/recipients.ts'
import { type AlertTableDeps, parseAlertTable, topicsOf } from '../../src/devices/alert-table.ts'
import { quote } from '../../src/language/sentence.ts'

const reader = createRecipientReader(createPhoneParser({ countries: new Set(['CN']) }))
const deps: AlertTableDeps = {
  parseRecipient(channel, text) {
    const [recipient] = reader(channel, text, undefined).valid
    return recipient === undefined ? quote('is wrong') : { channel, ...recipient }
  },
  channels: ['email', 'sms'],
  canonicalLocale: tag => (['en', 'zh-CN'].includes(tag) ? tag : null),
}
const problems = (text: string, more: Partial<AlertTableDeps> = {}) =>
  parseAlertTable(text, { ...deps, ...more }).faults.map(({ line, problem }) => `${line}: ${String(problem)}`)

t.test('a row names topic, product, minutes, language and recipients', async t => {
  const { rows, faults } = parseAlertTable(
    `# who is notified of what
alert   *                 30  -      ops@Example.com, +8613800138000   # day and night
state   1607d2b64f8a1f41  0   zh-CN  night@example.com,second@example.com

event   *  60 * +86 138 0013 8001
`,
    deps,
  )
  t.same(faults, [])
  t.same(rows, [
    {
      source: 'alert',
      product: null,
      everyMs: 1_800_000,
      locale: null,
      recipients: [
        { channel: 'email', to: 'ops@example.com', masked: 'o***@example.com' },
        { channel: 'sms', to: '+8613800138000', masked: '+86*******8000', country: 'CN' },
      ],
    },
    {
      source: 'state',
      product: '1607d2b64f8a1f41',
      everyMs: 0,
      locale: 'zh-CN',
      recipients: [
        { channel: 'email', to: 'night@example.com', masked: 'n***@example.com' },
        { channel: 'email', to: 'second@example.com', masked: 's***@example.com' },
      ],
    },
    {
      source: 'event',
      product: null,
      everyMs: 3_600_000,
      locale: null,
      recipients: [{ channel: 'sms', to: '+8613800138001', masked: '+86*******8001', country: 'CN' }],
    },
  ])
})

t.test('semicolons part the rows of a table in one setting', async t => {
  const { rows, faults } = parseAlertTable('alert * 5 - a@example.com; state - 5 en +8613800138000;', deps)
  t.same(faults, [])
  t.match(rows, [{ source: 'alert' }, { source: 'state' }])
})

t.test('a file with a byte order mark and CRLF line ends is read', async t => {
  const { rows, faults } = parseAlertTable(
    '\uFEFFalert * 5 - a@example.com\r\n\tstate\t*\t5\t-\ta@example.com\r\n',
    deps,
  )
  t.same(faults, [])
  t.equal(rows.length, 2)
})

t.test('a line of several rows says which one is at fault', async t => {
  const { faults } = parseAlertTable('# who\nalert * 5 - a@example.com; alarm * 5 - b@example.com', deps)
  t.match(faults, [{ line: 2, row: 2, problem: /^the topic/ }])
})

t.test('every fault is named with its line, and no recipient is repeated', async t => {
  const text = `alarm * 30 - ops@example.com

attributes * 30 - ops@example.com
alert pro/duct often xx ops@, 13800138000, +15005550006,
state * 99999 - ops@example.com
alert * 30 -
alert`
  const said = problems(text)
  t.same(said, [
    '1: the topic must be one of state, event, alert',
    '3: the topic must be one of state, event, alert',
    '4: the product must be its identifier, or * for any',
    '4: the minutes must be a whole number from 0 (each time) to 10080 (a week)',
    '4: there are no words in that language; - means the usual one',
    '4: recipient 1 is wrong',
    '4: recipient 2 must be an address, or a number such as +8613800138000',
    '4: recipient 3 is wrong',
    '4: recipient 4 is empty',
    '5: the minutes must be a whole number from 0 (each time) to 10080 (a week)',
    '6: something is missing; a row is: TOPIC PRODUCT MINUTES LANGUAGE RECIPIENT, RECIPIENT …',
    '7: something is missing; a row is: TOPIC PRODUCT MINUTES LANGUAGE RECIPIENT, RECIPIENT …',
  ])
})

t.test('a row may be quiet for a week, and a # within a word begins no remark', async t => {
  const { rows, faults } = parseAlertTable('alert * 10080 - ops#1@example.com #2', deps)
  t.same(faults, [])
  t.match(rows, [{ everyMs: 604_800_000, recipients: [{ to: 'ops#1@example.com' }] }])
  t.match(problems('alert * 10081 - ops@example.com'), [/the minutes must be a whole number from 0/])
})

t.test('the rows say which topics are subscribed to', async t => {
  const { rows } = parseAlertTable(
    'state p1 5 - a@b.com; state 7 5 - b@b.com; alert p1 5 - a@b.com; alert p1 9 en b@b.com; alert * 9 - c@b.com',
    deps,
  )
  t.same(topicsOf(rows, 'ANY'), [
    '/device-biz/state/product',
    '/device/alert/product/p1',
    '/device/alert/product/ANY',
  ])
})

t.test('an empty table is a fault: nobody would be notified', async t => {
  t.match(problems('# nothing yet\n'), [/there is no row/])
  t.match(problems(''), [/there is no row/])
})

t.test('a recipient of a channel that is off is a fault', async t => {
  t.match(problems('alert * 1 - a@example.com, +8613800138000', { channels: ['sms'] }), [
    /1: recipient 1 .*set EMAIL_TOKEN/,
  ])
  t.match(problems('alert * 1 - +8613800138000', { channels: ['email'] }), [/set SMS_TOKEN/])
})
