import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { adviceOn, diagnoseConnection, diagnoseExchange } from '../../src/providers/diagnosis.ts'
import { inEnglish } from '../language/english.ts'

t.test('each code of a failed connection has its cause', async t => {
  const at = { host: 'api.example.com', port: 443, setting: 'AN_API_URL' }
  const causes: readonly (readonly [RegExp, ...string[]])[] = [
    [/^the DNS does not answer for api\.example\.com$/, 'EAI_AGAIN'],
    [/^the DNS has no address for api\.example\.com$/, 'ENOTFOUND', 'EDNS', 'EAI_NODATA'],
    [/^nothing listens at api\.example\.com:443$/, 'ECONNREFUSED'],
    [/TLS from the first byte/, 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO'],
    [/:443 does not answer$/, 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
    [/:443 does not answer$/, 'answer-limit'],
    [/takes the connection, and says nothing/, 'UND_ERR_HEADERS_TIMEOUT', 'GREETING_TIMEOUT'],
    [/does not speak HTTP/, 'NOT_HTTP'],
    [/takes the connection, and hangs up/, 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ClosedAfterConnectTLS'],
    [/has expired/, 'CERT_HAS_EXPIRED'],
    [/not trusted here/, 'SELF_SIGNED', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER', 'CRL'],
  ]
  for (const [what, ...codes] of causes)
    for (const cause of codes) t.match(inEnglish(diagnoseConnection({ cause, ...at })), { what }, cause)
  t.same(inEnglish(diagnoseConnection({ cause: 'ERR_TLS_CERT_ALTNAME_INVALID', ...at })), {
    what: 'the certificate is not for the name api.example.com',
    next: 'write the name into AN_API_URL that is in the certificate',
  })
  t.equal(diagnoseConnection({ cause: 'EOTHER', ...at }), null)
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

t.test('a request without an answer: where it went, whether it was written, and by which proxy', async t => {
  const diagnose = (error: object, url = 'https://api.example.com', more: object = {}) => {
    return inEnglish(diagnoseExchange({ error, written: false, ...more }, url, 'AN_API_URL'))
  }
  const refused = { code: 'ECONNREFUSED' }
  for (const [url, place] of [
    ['https://api.example.com', 'api.example.com:443'],
    ['http://127.0.0.1', '127.0.0.1:80'],
    ['https://api.example.com:8443', 'api.example.com:8443'],
  ] as const)
    t.match(diagnose(refused, url), { what: `nothing listens at ${place}`, next: /AN_API_URL/ })
  for (const [written, what] of [
    [true, /says nothing/],
    [false, /does not answer/],
  ] as const)
    t.match(diagnose({}, undefined, { written, stopped: 'answer-limit' }), { what })
  t.match(diagnose({ code: 'EOTHER' }), { what: 'the connection to api.example.com fails' })

  t.match(diagnose({ message: 'Proxy response (407) !== 200' }), { next: /user and password in HTTPS_PROXY/ })
  t.match(diagnose({ message: 'Proxy response (403) !== 200' }), { what: /HTTP 403/, next: /NO_PROXY/ })
  t.match(diagnose({ ...refused, errors: [{ address: '10.0.0.1', port: 3128 }, {}] }), {
    what: 'nothing listens at 10.0.0.1:3128',
    next: /HTTPS_PROXY/,
  })
  const unknown = { code: 'ENOTFOUND', hostname: 'proxy.example.com' }
  t.match(diagnose(unknown), { what: /no address for proxy\.example\.com/, next: /HTTPS_PROXY/ })
  t.match(diagnose({ ...unknown, hostname: 'api.example.com' }), { next: /AN_API_URL/ })
})
