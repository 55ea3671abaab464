import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { adviceOn, diagnoseConnection, diagnoseExchange } from '../../src/providers/diagnosis.ts'
import { inEnglish } from '../language/english.ts'

/** Causes and remedies that are said of connections to api.example.com: test/fixtures/diagnoses.txt has them, and was read. */
t.test('a connection that fails, and a request without an answer: causes and remedies', async t => {
  const codes =
    'EAI_AGAIN ENOTFOUND EDNS EAI_NODATA ECONNREFUSED ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG EPROTO ETIMEDOUT EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT answer-limit UND_ERR_HEADERS_TIMEOUT GREETING_TIMEOUT NOT_HTTP UND_ERR_SOCKET ECONNRESET EPIPE ClosedAfterConnectTLS CERT_HAS_EXPIRED ERR_TLS_CERT_ALTNAME_INVALID SELF_SIGNED UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER CRL'
  const at = { host: 'api.example.com', port: 443, setting: 'AN_API_URL' }
  t.equal(diagnoseConnection({ cause: 'EOTHER', ...at }), null)
  const refused = { code: 'ECONNREFUSED' }
  const unknown = { code: 'ENOTFOUND', hostname: 'proxy.example.com' }
  const exchanges: readonly (readonly [error: object, url?: string, more?: object])[] = [
    [refused],
    [refused, 'http://127.0.0.1'],
    [refused, 'https://api.example.com:8443'],
    [{}, undefined, { written: true, stopped: 'answer-limit' }],
    [{}, undefined, { stopped: 'answer-limit' }],
    [{ code: 'EOTHER' }],
    [{ message: 'Proxy response (407) !== 200' }],
    [{ message: 'Proxy response (403) !== 200' }],
    [{ ...refused, errors: [{ address: '10.0.0.1', port: 3128 }, {}] }],
    [
      {
        code: 'ETIMEDOUT',
        message: 'Connect Timeout Error (attempted address: 10.0.0.1:3128, timeout: 1000ms)',
      },
    ],
    [unknown],
    [{ ...unknown, hostname: 'api.example.com' }],
  ]
  const tell = (of: string, found: unknown) =>
    `${of}: ${Object.values(inEnglish(found) as object).join(' → ')}`
  const said = [
    ...codes.split(' ').map(cause => tell(cause, diagnoseConnection({ cause, ...at }))),
    ...exchanges.map(([error, url = 'https://api.example.com', more]) =>
      tell(
        JSON.stringify({ error, url, ...more }),
        diagnoseExchange({ error, written: false, ...more }, url, 'AN_API_URL'),
      ),
    ),
  ]
  const record = readFileSync(join(import.meta.dirname, '../fixtures/diagnoses.txt'), 'utf8')
  t.same(said, record.trimEnd().split('\n'))
})

t.test(
  'what a code says beyond its verdict has its own advice, in a reply or in the refusal of a login',
  async t => {
    for (const [next, ...replies] of [
      [/^Set the clock/, 'InvalidTimeStamp.Expired Specified time stamp', 'AuthFailure.SignatureExpire'],
      [/^Copy the key/, 'InvalidAccessKeyId.Inactive disabled', 'AuthFailure.SecretIdNotFound not found'],
      [/^Send from an address in mainland/, 'isv.DENY_IP_RANGE 源IP地址所在的地区被禁用'],
      [
        /^Nothing is to be done/,
        'isv.BUSINESS_LIMIT_CONTROL 触发分钟级流控Permits:1',
        '450 4.2.0 Greylisted, try later',
      ],
      [/^Nothing is to be done/, 'LimitExceeded.PhoneNumberThirtySecondLimit'],
      [/blacklist/, 'isv.BLACK_KEY_CONTROL_LIMIT', 'MOBILE_IN_BLACK', 'W-BLACK', '21610 unsubscribed'],
    ] as const)
      for (const said of replies) {
        const [code, reply = ''] = said.split(/ (.*)/)
        const advice = [{ reply: quote(said) }, { code, reply: quote(reply) }].map(adviceOn)
        t.match(advice, [next, next], said)
      }
    for (const said of ['isv.BUSINESS_LIMIT_CONTROL 触发天级流控Permits:10', 'a 21610', '216101'])
      t.equal(adviceOn({ reply: quote(said) }), null, said)
  },
)
