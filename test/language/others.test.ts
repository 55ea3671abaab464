import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recognize } from '../../src/language/recognize.ts'
import { englishIn } from './english.ts'
import { literalsOf } from './literals.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Sources whose sentences nobody reads in the console, at a command or on a page of ours. */
const ENGLISH = [
  'src/language/*',
  // The log and metrics are English.
  'src/admin/event-log.ts',
  'src/admin/metrics/*',
  // What the platform says, as a sample; words that a reply may have; headers of mails; a fault of the SDK's use.
  'src/messages/{kinds,samples}.ts',
  'src/providers/redact.ts',
  'src/words/{mime,template-variables}.ts',
  'src/outbox/postgres/heartbeats.ts',
  'src/providers/twilio-sdk.ts',
  'src/providers/smtp/dkim.ts',
  // SQL.
  'src/outbox/message-row.ts',
  'src/outbox/sqlite/schema.ts',
  'src/outbox/postgres/{schema,transaction,leases,queries,claim,maintenance}.ts',
]
/** Code in front of what no reader of ours is told, or in which only a marked sentence is one: settings have words of their own, bugs and the log are English. */
const ELSEWHERE =
  /(?:\bsay\(|\b(?:meaning|example|about|usage|title|doing|dropped|authorization|is: 'file', type)(?::|\s*=)|new (?:Type)?Error\(|StoreUnavailable\(|BacklogFull\(|lookupError\([^\n]*|runInBackground\(|callStore\(|\blog(?:ger)?\b[^\n]*|\(\s*'warn',|\b(?:err|event): [^\n]*\n?|\bhtml|(?:header|\.type)\([^\n]*|_TYPE =|_POLICY =|callsql|await \w+\.query\(|\b(?:exec|prepare|query)\()\s*$/
/** Pieces of sentences, which stand whole below, and what is no sentence. */
const PIECES = new Set([
  ', line {}',
  '/to: none of {} is {}',
  '/to: not {}',
  'HTTP/1.1 {}r\nConnection: closer\n{}Content-Length: {}r\nr\n{}',
  'Content-Type: application/json; charset=utf-8r\n',
  'Test {}: {}',
  'a mobile number',
  'a number of an allowed country',
  'an address',
  'not ready',
  'template {}{} {}',
  ' and {}',
  ', row {}',
  ', though it names{}',
  "allow the key to list them, or look at the {} {} in use in the carrier's console",
  'approved, for {} {}',
  'cannot know whether its {} are approved: {}',
  'does not support SSL',
  'has fewer than {} characters',
  'http too',
  'https only',
  'is a number, but SMS is off: set SMS_TOKEN',
  'is an address, but e-mail is off: set EMAIL_TOKEN',
  'is empty',
  'is not a mobile number',
  'is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)',
  'is not an address',
  'is not known; known are {}',
  'is wrong',
  'its text has the variables {}',
  'must be an address, or a number such as +8613800138000',
  'must be the words, or the name of a kind that has them; {} is none',
  'must not be blank',
  'must not be empty',
  'needs a button; {} has none',
  'no template for {} {}',
  'no template for {} {} in the language {}',
  'off: nobody will know whether an SMS reached its phone',
  ' (with it came a new refresh token, which is forgotten with the next start: docs/operations.md)',
  'connected and logged in with an access token for {} min{}',
  'one more is tried in {}',
  'recipient {} {}',
  'sets nothing{}',
  'write{}=value, or # in front of a remark',
  'subscribe to {}',
  'user={}x01auth=Bearer {}x01x01',
  'n,a={},x01auth=Bearer {}x01x01',
  'the mapping gives {}',
  'the provider asked for a pause; it ends in {}',
  'the provider refused more than {} connections; {}',
  'the store {} is damaged: stop the service, keep a copy of the file and of {}-wal, look after the disk, ',
  'then restore a backup, or save what can be read with "sqlite3 {} .recover | sqlite3 recovered.db" and put that in its place',
  'there is no row; one is: {}',
  'to any host',
  'to {}',
  '{} (there are {}); built in{}',
  '{} is {}',
  '{}, so name your Twilio account (AC…)',
  '{} contains a network of everybody (/0)',
  '{}, so that whoever sees the URL could guess it and send in your name',
  '{}. Only an API key is set, and Twilio signs its reports with the Auth Token',
  '{}. Twilio is not told where to report',
])

/** What the pieces make, as `check` says it. */
const WHOLE = [
  '/to: none of 3 is an address',
  '/to: not a mobile number',
  '/to: not a number of an allowed country',
  '/to: more than 1000 recipients',
  '/area_code: missing, no calling code, or not that of the number',
  '/sms_param/code is missing or blank',
  '/email_param/url holds a link that is not an https link (LINKS_HTTPS_ONLY)',
  '/plain_email holds a link that leads to a host that is not allowed (LINK_HOSTS)',
  '/plain_sms is longer than SMS_MAX_SEGMENTS (3) allows',
  'refused by the provider (an address beyond ASCII needs a mail server with SMTPUTF8)',
  'Too many wrong tries. The password is the one of ADMIN_TOKENS, or your own there; any user name will do.',
  'This token of ADMIN_TOKENS opens /api alone. The bearer token is one of ADMIN_TOKENS: with status/, or an operator’s.',
  'ALLOWED_SOURCES contains a network of everybody (/0)',
  'TRUSTED_PROXIES contains a network of everybody (/0)',
  'connected and logged in with an access token for 59 min; takes X1 as sender',
  'connected and logged in with an access token for 59 min (with it came a new refresh token, which is forgotten with the next start: docs/operations.md)',
  'ALERTS there is no row; one is: X1',
  'ALERTS line 3: something is missing; a row is: X1',
  'ALERTS line 3, row 2: recipient 2 is empty',
  'recipient 2 is an address, but e-mail is off: set EMAIL_TOKEN',
  'recipient 2 is a number, but SMS is off: set SMS_TOKEN',
  'recipient 1 must be an address, or a number such as +8613800138000',
  'recipient 1 is not an address',
  'recipient 1 is not a mobile number',
  'recipient 1 is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)',
  "allow the key to list them, or look at the 2 signatures in use in the carrier's console",
  "allow the key to list them, or look at the 2 templates in use in the carrier's console",
  'cannot know whether its signatures are approved: it answers HTTP 500 to X1',
  'cannot know whether its templates are approved: no answer after the request was written: X1',
  'approved, for X1 on the mainland',
  'approved, for X1 abroad',
  'map X1 abroad to another one',
  'its text has the variables X1, X2, the mapping gives none',
  'no template for X1 in China',
  'no template for X1 outside China in the language X2',
  'has fewer than 22 characters, so that whoever sees the URL could guess it and send in your name: make a new one with `callback-courier token`, or set CALLBACK_KEYS (22 or more random characters each) or ALLOWED_SOURCES',
  'has fewer than 8 different characters, repeats itself, or is a run such as 1234567890123456, so that whoever sees the URL could guess it and send in your name',
  'line 3 of X1',
  'line 3 of X1 sets nothing',
  'line 3 of X1 sets nothing, though it names X2_Y',
  'sets nothing',
  'sets nothing, though it names X1_Y',
  'write X1_Y=value, or # in front of a remark',
  'read; email is on, sms is off',
  'let in by the key in the URL, 2 allowed networks, a signature on every POST',
  'to any host, https only',
  'to X1, X2, http too',
  'one more is tried in 3 s',
  'the provider refused more than 3 connections; one more is tried when it is needed',
  'the provider refused more than 3 connections; one more is tried in 3 s',
  'the provider asked for a pause; it ends in 3 s',
  'stop the service, keep a copy of the file and of X1-wal, look after the disk, then restore a backup, or save what can be read with "X1" and put that in its place',
  'off: nobody will know whether an SMS reached its phone. Only an API key is set, and Twilio signs its reports with the Auth Token',
  'off: nobody will know whether an SMS reached its phone. Twilio is not told where to report',
  'SMS is on (SMS_TOKEN), so name your Twilio account (AC…)',
  'SMS is on (SMS_TOKEN): set it, or TWILIO_API_KEY',
  'X1 (there are X2, X3); built in and X4',
  'X1 (there are X2, X3); built in',
  '/mail/X1 must be the words, or the name of a kind that has them; X2 is none',
  '/mail/X1 needs a button; X2 has none',
  '/mail/X1 is not known; known are X2',
  '/mail/X1 must not be blank',
  '/mail/X1 must not be empty',
  '/mail/X1 is wrong',
  'the certificate expires in 3 days, on X1: renew it',
  'a certificate of the chain expired on X1: renew it',
  'for nobody, until X1',
  'subscribe to X1: refused: HTTP 403, code 4031003, X2',
  'authenticate: no answer',
  'TLS_KEY_FILE: X1 cannot be read (X2): the service runs as user 1000, who must be able to read it and to pass the folders above it; chown 1000 gives it to that user',
  "is missing. Your enterprise's identifier on the platform, as its console shows it.",
  'HTTP 403, err_code none',
  'HTTP 403, err_code 4031001 X1',
]

const isSentence = (text: string) =>
  /[a-z]{2,}[,;:]? (?:[a-z]{2,}|\{\})|\{\} [a-z]{2,}/.test(text) &&
  !/^\s*<|[{};]\s*\n|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|SET|FROM)\b/.test(text)

t.test('every sentence of others that readers see is known', async t => {
  const files = globSync('src/**/*.ts', { cwd: ROOT, exclude: ENGLISH })
  for (const pattern of ENGLISH) t.ok(globSync(pattern, { cwd: ROOT }).length > 0, pattern)
  const unused = new Set(PIECES)
  for (const file of files.sort()) {
    for (const { text, before } of literalsOf(readFileSync(join(ROOT, file), 'utf8'))) {
      if (!isSentence(text) || ELSEWHERE.test(before)) continue
      if (PIECES.has(text)) {
        unused.delete(text)
        continue
      }
      let n = 0
      const said = text.trim().replaceAll('{}', () => `X${(n += 1)}`)
      // What a key of a callback has stands behind its name.
      const known = [said, `/X0 ${said}`].some(
        each => englishIn(recognize(each).replaceAll(/\{\w+\}/g, ' ')).length === 0,
      )
      t.ok(known, `${file}: ${text} → ${recognize(said)}`)
    }
  }
  t.same([...unused], [], 'no piece is listed that there is not')
})

t.test('what is put together of pieces is known, too', async t => {
  for (const text of WHOLE) t.same(englishIn(recognize(text)), [], `${text} → ${recognize(text)}`)
})
