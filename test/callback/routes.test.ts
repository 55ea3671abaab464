import t, { type Test } from 'tap'
import type { Admission, AdmittedCallback } from '../../src/callback/admission.ts'
import { createAnswer } from '../../src/callback/answers.ts'
import type { Authentication, Caller, Credentials } from '../../src/callback/authenticate.ts'
import { createDescriptors } from '../../src/callback/descriptors.ts'
import { createPublicListener } from '../../src/callback/listener.ts'
import { type CallbackRoutesOptions, callbackRoutes } from '../../src/callback/routes.ts'
import type { Emit, ServiceEvent } from '../../src/events/events.ts'
import { smsBodySchema } from '../../src/messages/interpret.ts'
import { listenAs } from '../rigs/listen.ts'
import { openRaw } from '../rigs/raw.ts'
import { smsBody, until } from '../rigs/service.ts'

/** A callback that is let in whatever it does. */
const LET_IN: AdmittedCallback = {
  noteOctets: () => true,
  noteBodyRead: () => true,
  noteStored: () => Number.POSITIVE_INFINITY,
  end: () => {},
}

/** The public listener with everybody let in by authentication, and an admission that does as it is told. */
async function listen(
  t: Test,
  admit: Admission['admit'],
  receive: CallbackRoutesOptions['receive'],
  {
    isBehind = () => false,
    isSpare = () => false,
    isDraining = () => false,
    emit = () => {},
    authenticating = () => {},
  }: {
    readonly isBehind?: () => boolean
    readonly isSpare?: () => boolean
    readonly isDraining?: () => boolean
    readonly emit?: Emit
    readonly authenticating?: () => void
  } = {},
) {
  const caller = { channel: 'sms', corpId: 'corp' } as Caller
  const refused = {
    ok: false,
    answer: createAnswer('credential', 'no'),
    reason: 'signature',
    knowsKey: true,
    signature: 'wrong',
  } as const
  const accepted = { ok: true, caller, signature: 'absent', outdated: false } as const
  const authenticate = ({ key }: Credentials) => {
    authenticating()
    return key === 'key' ? accepted : refused
  }
  const descriptors = { ...createDescriptors(Number.POSITIVE_INFINITY, Date.now), isSpare }
  const { app, unauthenticated } = createPublicListener({
    tls: undefined,
    callerOf: undefined,
    onNotHttp: () => {},
    onBadUrl: () => {},
    descriptors,
  })
  callbackRoutes(app, {
    authentication: {
      authenticatePost: authenticate,
      authenticateValidation: authenticate,
    } as unknown as Authentication,
    admission: { admit } as never,
    descriptors,
    receive,
    schemas: { email: {}, sms: smsBodySchema },
    errorStatus: 'code',
    headers: {},
    emit,
    unauthenticated: { ...unauthenticated, isBehind },
    isDraining,
  })
  return `http://127.0.0.1:${await listenAs(t, app)}`
}

const POST = 'POST /callback/corp/key/sms HTTP/1.1\r\nHost: localhost\r\n'
const accept: CallbackRoutesOptions['receive'] = async () => ({
  answer: { status: 200, err_code: 0, err_msg: '' },
  kind: 'login-code',
  ids: [],
})

t.test('a callback that is not let in is refused before its body has come', async t => {
  const asked: number[] = []
  const url = await listen(
    t,
    octets => {
      asked.push(octets)
      return null
    },
    () => t.fail('it is not received') as never,
  )
  const raw = await openRaw(url)
  raw.write(`${POST}Content-Length: 65536\r\n\r\n`)
  const text = await raw.says(/\r\n\r\n.*\}/s)
  t.match(text, /^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n/s)
  t.match(text, '{"err_code":5031002,"err_msg":"too many callbacks at once"}')
  raw.write(Buffer.alloc(65_536, 0x20))
  raw.write(`${POST}Content-Length: 0\r\n\r\n`)
  await raw.says(/503 .*503 /s)
  t.same(asked, [65_536, 0], 'its connection is kept, and what comes of its body is thrown away')
  raw.socket.destroy()

  const chunked = await openRaw(url)
  chunked.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`)
  t.match(await chunked.ended(), /^HTTP\/1\.1 503 /, 'a body of unknown length is not waited for')
  t.same(asked, [65_536, 0, Number.POSITIVE_INFINITY])
})

t.test('whoever was let in is out again, whatever becomes of the callback', async t => {
  let inside = 0
  let room = true
  const url = await listen(
    t,
    () => {
      inside += 1
      return {
        ...LET_IN,
        noteOctets: octets => octets < 100,
        noteBodyRead: () => room,
        end: () => void (inside -= 1),
      }
    },
    accept,
  )
  const post = (body: string) => `${POST}Content-Length: ${body.length}\r\n\r\n${body}`
  const raw = await openRaw(url)
  raw.write(post(JSON.stringify(smsBody())))
  await raw.says(/HTTP\/1\.1 200 /)
  await until(() => inside === 0, 'answered')
  raw.write(post('{'))
  await raw.says(/HTTP\/1\.1 400 /)
  await until(() => inside === 0, 'a body that is wrong')
  room = false
  const full = await openRaw(url)
  full.write(post(JSON.stringify(smsBody())))
  await full.says(/HTTP\/1\.1 503 /)
  full.socket.destroy()
  await until(() => inside === 0, 'one that there is no memory for, now that its body has come')
  const half = await openRaw(url)
  half.write(`${POST}Content-Length: 100\r\n\r\n{`)
  await until(() => inside === 1, 'half a body')
  half.socket.destroy()
  await until(() => inside === 0, 'its connection broke')
  const long = await openRaw(url)
  long.write(`${POST}Transfer-Encoding: chunked\r\n\r\n63\r\n${'x'.repeat(99)}\r\n`)
  await until(() => inside === 1, 'octets that there is memory for')
  long.write('1\r\nx\r\n')
  t.match(await long.ended(), /^HTTP\/1\.1 503 /, 'one more octet of a body that did not say how long it is')
  await until(() => inside === 0, 'and no place for it')
  raw.socket.destroy()
})

t.test('a flood is refused, kept connections serve on, and refusals are reported together', async t => {
  let isFull = false
  const events: ServiceEvent[] = []
  const admit = () => (isFull ? null : LET_IN)
  const url = await listen(t, admit, accept, { emit: event => void events.push(event) })
  const known = await openRaw(url)
  const body = JSON.stringify(smsBody())
  const post = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`
  known.write(post)
  await known.says(/HTTP\/1\.1 200 /)
  isFull = true
  known.write(post.repeat(20))
  await until(() => known.text().split('HTTP/1.1 503 ').length === 21, 'refused')
  t.match(
    known.text(),
    /HTTP\/1\.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-type: application\/json/,
  )
  isFull = false
  known.write(post)
  await until(() => known.text().split('HTTP/1.1 200 ').length === 3, 'its connection serves on')
  known.socket.destroy()
  const overloads = events.flatMap(each => (each.type === 'overloaded' ? [each.times] : []))
  t.equal(
    overloads.reduce((sum, times) => sum + times, 0),
    20,
  )
  t.ok(overloads.length < 20, `${overloads.length} reports`)
})

t.test(
  'while connections come faster than they are accepted, a new one that shows the key is refused',
  async t => {
    let admitted = 0
    const admit = () => {
      admitted += 1
      return LET_IN
    }
    const events: ServiceEvent[] = []
    const emit = (event: ServiceEvent) => void events.push(event)
    const url = await listen(t, admit, accept, { isBehind: () => true, emit })
    const body = JSON.stringify(smsBody())
    const post = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`
    const [known, stranger] = [await openRaw(url), await openRaw(url)]
    known.write(post)
    await known.says(/HTTP\/1\.1 503 .*"err_code":5031002,/s)
    stranger.write(post.replace('/key/', '/other/'))
    await stranger.says(/HTTP\/1\.1 403 /)
    stranger.write('GET /callback/corp/other/sms HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await stranger.says(/ 403 .* 403 /s)
    stranger.write(post)
    await stranger.says(/HTTP\/1\.1 503 /)
    t.equal(admitted, 0)
    const refused = { refusal: 'signature', knowsKey: true }
    t.match(events, [{ type: 'overloaded' }, refused, refused, { type: 'overloaded' }])
    known.write(post)
    await known.says(/HTTP\/1\.1 200 /)
    for (const { socket } of [known, stranger]) socket.destroy()
  },
)

t.test(
  'a caller with a spare descriptor is refused and hung up on, and all are while the service ends',
  async t => {
    const [so, POSTED, NOWHERE] = [
      () => true,
      `${POST}Content-Length: 0\r\n\r\n`,
      'GET /x HTTP/1.1\r\nHost: x\r\n\r\n',
    ]
    for (const [given, admitted, request, status] of [
      [{ isSpare: so }, LET_IN, POSTED, 503],
      [{ isSpare: so }, LET_IN, NOWHERE, 404],
      [{ isDraining: so }, LET_IN, NOWHERE, 404],
      [{ isDraining: so }, null, POSTED, 503],
    ] as const) {
      const raw = await openRaw(await listen(t, () => admitted, accept, given))
      raw.write(request)
      t.match(await raw.ended(), new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n`, 'i'))
    }
  },
)

t.test('each callback is reported whole, with how long it took', async t => {
  let ms = 0
  const { now } = performance
  performance.now = () => ms
  t.teardown(() => void (performance.now = now))
  const events: ServiceEvent[] = []
  const receive: typeof accept = async (caller, body, limitWait) => {
    ms += 700
    return { ...(await accept(caller, body, limitWait)), ids: ['a1'] }
  }
  const url = await listen(t, () => LET_IN, receive, {
    emit: event => void events.push(event),
    authenticating: () => void (ms += 3),
  })
  const ask = async (key: string, body: string | null, headers: Record<string, string>) => {
    const method = body === null ? 'GET' : 'POST'
    const answer = await fetch(`${url}/callback/corp/${key}/sms`, { method, body, headers })
    await answer.arrayBuffer()
  }
  await ask('key', null, { 'user-agent': 'callback-courier-check' })
  for (const type of ['text/plain', '']) await ask('key', JSON.stringify(smsBody()), { 'content-type': type })
  await ask('key', '{', { 'content-type': 'application/json' })
  await ask('other', '{}', {})
  await ask('key/more', '{', { 'content-type': 'application/json' })
  for (const method of ['DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'])
    t.equal((await fetch(`${url}/callback/corp/key/sms`, { method })).headers.get('allow'), 'GET, POST')
  const answer = { status: 200, err_code: 0, err_msg: '', retryAfter: undefined }
  const post = {
    type: 'callback',
    channel: 'sms',
    method: 'POST',
    kind: 'none',
    answer,
    refusal: null,
    knowsKey: true,
    isCheck: false,
    signature: 'absent',
    outdated: false,
    ids: [],
    tookMs: 3,
  }
  const bad = { err_code: 4002001, retryAfter: undefined }
  t.strictSame(events, [
    { ...post, method: 'GET', isCheck: true },
    { ...post, answer: { ...bad, status: 415, err_msg: 'the Content-Type must be application/json' } },
    {
      ...post,
      kind: 'login-code',
      ids: ['a1'],
      tookMs: 703,
      answer: { status: 200, err_code: 0, err_msg: '' },
    },
    { ...post, answer: { ...bad, status: 400, err_msg: 'the body is not JSON' } },
    {
      ...post,
      refusal: 'signature',
      signature: 'wrong',
      answer: { ...answer, status: 403, err_code: 4031003, err_msg: 'no' },
    },
    { type: 'stray-request', answer: { ...answer, status: 404, err_code: 4041001, err_msg: 'no such path' } },
    ...Array.from({ length: 5 }, () => ({
      type: 'stray-request',
      answer: { ...answer, status: 405, err_code: 4051001, err_msg: 'GET validates, POST sends' },
    })),
  ])
})

t.test('a chunked body that is too large is answered 413, and its connection is closed by us', async t => {
  const raw = await openRaw(await listen(t, () => LET_IN, accept))
  const octets = 64 * 1024 + 1
  raw.write(`${POST}Transfer-Encoding: chunked\r\n\r\n${octets.toString(16)}\r\n${' '.repeat(octets)}\r\n`)
  // The last chunk never comes.
  const text = await raw.ended()
  t.match(text, /^HTTP\/1\.1 413 .*\r\nconnection: close\r\n/is)
  t.match(text, '"err_code":4002001')
})

t.test('what fails is a fault, and an answer that cannot be written ends its connection', async t => {
  const events: string[] = []
  const answers = [{ status: 99, err_code: 0, err_msg: '' }]
  const receive = async () => {
    const answer = answers.pop()
    if (answer === undefined) throw new Error('a bug')
    return { answer, kind: 'x', ids: [] }
  }
  const url = await listen(t, () => LET_IN, receive, { emit: ({ type }) => void events.push(type) })
  const headers = { 'content-type': 'application/json' }
  const given = { method: 'POST', body: JSON.stringify(smsBody()), headers }
  await t.rejects(fetch(`${url}/callback/corp/key/sms`, given))
  const faulty = await fetch(`${url}/callback/corp/key/sms`, given)
  t.equal(await faulty.text(), '{"err_code":5021001,"err_msg":"an unexpected fault"}')
  t.same(events, ['callback', 'fault', 'fault', 'callback'])
})
