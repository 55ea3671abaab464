import { once } from 'node:events'
import type net from 'node:net'
import tls from 'node:tls'
import t from 'tap'
import { openRaw, openTcp, type Raw } from '../rigs/raw.ts'
import { type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'

const head = (method: string, path: string, ...lines: readonly string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n')

async function say(rig: ServiceRig, bytes: string | Buffer): Promise<string> {
  const raw = await openRaw(rig.service().publicUrl)
  raw.write(bytes)
  return raw.ended()
}

t.test('who never finishes a handshake, a head or a body is hung up on', async t => {
  const rig = await startRig(t)
  const url = rig.service().publicUrl
  const handshake = openTcp(url)
  handshake.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]))
  const silent = openTcp(url)
  const idle = await openRaw(url)
  const slowHead = await openRaw(url)
  slowHead.write(`POST ${rig.path('sms')} HTTP/1.1\r\nHost: x\r\n`)
  const slowBody = await openRaw(url)
  slowBody.write(`${head('POST', rig.path('sms'), 'Content-Length: 1000')}{"to":`)
  const chunked = await openRaw(url)
  chunked.write(`${head('POST', rig.path('sms'), 'Transfer-Encoding: chunked')}5\r\n{"to"\r\n`)
  const all: Readonly<Record<string, Raw>> = { handshake, silent, idle, slowHead, slowBody, chunked }
  const dripping = setInterval(() => {
    slowHead.write('X-a: b\r\n')
    slowBody.write(' ')
  }, 250)
  t.teardown(() => clearInterval(dripping))
  const ended = await Promise.all(
    Object.entries(all).map(async ([name, raw]) => ({ name, said: await raw.ended() })),
  )
  for (const { name, said } of ended) t.notMatch(said, rig.path('sms'), `${name}: and nothing is repeated`)
  t.match(ended.find(({ name }) => name === 'slowHead')?.said, /^HTTP\/1\.1 408 /)
  t.equal(rig.twilio.requests.length, 0)
})

t.test('what is not HTTP, or two things at once, is answered by a bare status', async t => {
  const rig = await startRig(t)
  const path = rig.path('sms')
  const body = JSON.stringify(smsBody())
  const chunked = head('POST', path, 'Transfer-Encoding: chunked')
  const wrong: Readonly<Record<string, string>> = {
    garbage: '\0\x01\x02GARBAGE\r\n\r\n',
    'no host': `POST ${path} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}`,
    'two lengths': `${head('POST', path, 'Content-Length: 2', 'Content-Length: 3')}{}`,
    'length and chunks': `${head('POST', path, `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked')}0\r\n\r\n${body}`,
    'an odd coding': head('POST', path, 'Transfer-Encoding: xchunked'),
    'a folded header': head('POST', path, 'X-A: b', ' Transfer-Encoding: chunked'),
    'a space before the colon': head('POST', path, 'Transfer-Encoding : chunked'),
    'a bare line feed': `POST ${path} HTTP/1.1\nHost: x\n\n`,
    'two hosts': head('POST', path, 'Host: y', `Content-Length: ${body.length}`) + body,
    'the same host twice': head('POST', path, 'hOST: x', 'Content-Length: 0'),
    'two hosts, outside the callbacks': head('GET', '/', 'Host: y'),
    'HTTP/2 without a word before': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a length twice': head('POST', path, 'Content-Length: 5', 'Content-Length: 5'),
    'a list of lengths': head('POST', path, 'Content-Length: 5, 5'),
    'a length with a sign': head('POST', path, 'Content-Length: +5'),
    'a hexadecimal length': head('POST', path, 'Content-Length: 0x5'),
    'a length beyond counting': head('POST', path, `Content-Length: ${'9'.repeat(20)}`),
    'packed chunks': head('POST', path, 'Transfer-Encoding: gzip, chunked'),
    'chunks twice': head('POST', path, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
    'chunks that are not last': head('POST', path, 'Transfer-Encoding: chunked, identity'),
    'chunks in HTTP/1.0': `POST ${path} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'a chunk whose size is none': `${chunked}0x2\r\n{}\r\n0\r\n\r\n`,
    'a chunk beyond counting': `${chunked}${'1'.repeat(20)}\r\n{}`,
    'a chunk extension with a bare line feed': `${chunked}2;\n{}\r\n0\r\n\r\n`,
    'a chunk that is longer than it says': `${chunked}1\r\n{}\r\n0\r\n\r\n`,
    'a carriage return in a header': head('POST', path, 'X-A: b\rc'),
    'a zero octet in a header': head('POST', path, 'X-A: b\0c'),
    'a negative length': head('POST', path, 'Content-Length: -1'),
  }
  for (const [name, bytes] of Object.entries(wrong)) {
    const said = await say(rig, bytes)
    t.match(said, /^HTTP\/1\.1 400 [^]*\r\n\r\n(0\r\n\r\n)?$/, `${name}: a status without a body`)
  }
  t.equal(rig.twilio.requests.length, 0)
  const strays = rig.events().filter(({ event }) => event === 'stray')
  t.equal(strays.length, 1, 'one line of the log for all of them')
})

t.test('a head that is too large is answered in the usual form', async t => {
  const rig = await startRig(t)
  const path = rig.path('sms')
  for (const large of [
    head('POST', path, `X-A: ${'b'.repeat(10_000)}`),
    head('POST', path, ...Array.from({ length: 1000 }, (_, n) => `X-${n}: 1`)),
    head('GET', `/${'a'.repeat(10_000)}`),
    head('POST', path, `X-A: ${'b'.repeat(1_000_000)}`),
  ])
    t.match(
      await say(rig, large),
      /^HTTP\/1\.1 431 [^]*content-type: application\/json[^]*\r\n\r\n\{"err_code":4311001,"err_msg":"[^"]+"\}$/i,
    )
})

t.test(
  'a head that is too large is answered while it still comes, and no reset takes the answer away',
  async t => {
    for (const TLS of ['on', 'off']) {
      const rig = await startRig(t, { TLS })
      const raw = await openRaw(rig.service().publicUrl)
      let broken: unknown = null
      raw.socket.on('error', error => (broken ??= error))
      raw.write(`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'b'.repeat(40_000)}`)
      const more = setInterval(() => raw.write('b'.repeat(40_000)), 50)
      t.teardown(() => clearInterval(more))
      await raw.says(/"err_code":4311001/)
      await new Promise(resolve => setTimeout(resolve, 500))
      t.equal(broken, null)
      await raw.ended()
      clearInterval(more)
      t.equal(rig.events().filter(({ event }) => event === 'stray').length, 1)
    }
  },
)

t.test('clients of HTTP/1.0 and odd methods are answered as they understand', async t => {
  const rig = await startRig(t)
  const url = new URL(rig.service().publicUrl)
  const to = { host: url.hostname, port: Number(url.port), rejectUnauthorized: false }
  for (const offered of [['http/1.0'], ['http/1.1'], ['h2', 'http/1.0'], []]) {
    const socket = tls.connect({ ...to, ...(offered.length > 0 && { ALPNProtocols: offered }) })
    await once(socket, 'secureConnect')
    t.equal(socket.alpnProtocol, offered.at(-1) ?? false)
    socket.destroy()
  }
  const refused = tls.connect({ ...to, ALPNProtocols: ['h2'] })
  t.match(await once(refused, 'error'), [{ code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' }])

  const validation = await say(rig, `GET ${rig.path('sms')}?${rig.sign('sms')} HTTP/1.0\r\n\r\n`)
  t.match(validation, /^HTTP\/1\.1 200 [^]*connection: close[^]*\{"err_code":0,"err_msg":""\}$/i)

  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'] as const) {
    const { status, headers } = await rig.ask(rig.path('sms'), { method })
    t.match({ status, allow: headers['allow'] }, { status: 405, allow: 'GET, POST' }, method)
  }
})

t.test('odd forms of a request line are no way around the constant answer', async t => {
  const rig = await startRig(t)
  const closing = 'Connection: close'
  for (const [method, target] of [
    ['GET', 'http://evil.test/'],
    ['GET', `https://evil.test${rig.path('sms')}x`],
    ['OPTIONS', '*'],
    ['TRACE', '/'],
    ['PROPFIND', '/'],
    ['GET', '/;/../callback'],
    ['GET', '/callback\\x'],
    ['GET', '/%'],
    ['GET', '/callback/%c0%ae/x/sms'],
  ] as const) {
    const said = await say(rig, head(method, target, closing))
    t.match(
      said,
      /^HTTP\/1\.1 404 [^]*\{"err_code":4041001,"err_msg":"no such path"\}$/,
      `${method} ${target}`,
    )
  }
  t.match(await say(rig, head('CONNECT', 'evil.test:443', closing)), /^$|^HTTP\/1\.1 4/, 'no proxy either')
  const upgrade = await say(
    rig,
    head('GET', '/', 'Connection: Upgrade, close', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'),
  )
  t.notMatch(upgrade, / 101 /)
})

t.test('a stranger who does not wait for an answer is hung up on; who has the key is not', async t => {
  const rig = await startRig(t)
  // Some of these Node would answer by itself.
  for (const request of [
    head('GET', '/'),
    head('GET', '/%'),
    head('GET', '/', 'Host: y'),
    head('GET', '/', 'Expect: whatever'),
    head('POST', '/', 'Expect: 100-continue', 'Content-Length: 0'),
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
    head('CONNECT', 'x.test:443'),
  ]) {
    const said = await say(rig, request.repeat(500))
    t.ok((said.match(/HTTP\/1\.1/g) ?? []).length <= 1, request.split('\r\n').join(' '))
  }
  const expecting = head(
    'GET',
    `${rig.path('sms')}?${rig.sign('sms')}`,
    'Expect: whatever',
    'Connection: close',
  )
  t.match(await say(rig, expecting), /^HTTP\/1\.1 200 /, 'an expectation is ignored')

  const known = await openRaw(rig.service().publicUrl)
  const valid = head('GET', `${rig.path('sms')}?${rig.sign('sms')}`)
  known.write(valid.repeat(5))
  await known.says(/(HTTP\/1\.1 200[^]*){5}/)
  known.socket.destroy()
})

t.test('a refused POST keeps its connection when little of it is left, and loses it otherwise', async t => {
  const rig = await startRig(t)
  const wrong = rig.path('sms').replace(/[0-9a-f]{32}/, '0'.repeat(32))
  const small = await openRaw(rig.service().publicUrl)
  for (let n = 1; n <= 3; n += 1) {
    small.write(`${head('POST', wrong, 'Content-Length: 6')}canary`)
    await small.says(new RegExp(`(HTTP/1\\.1 403[^]*){${n}}`))
  }
  small.socket.destroy()
  for (const length of ['Content-Length: 100000000', 'Transfer-Encoding: chunked']) {
    const large = await openRaw(rig.service().publicUrl)
    large.write(head('POST', wrong, length))
    const said = await large.ended()
    t.match(said, /^HTTP\/1\.1 403 [^]*connection: close/i, length)
    // A limit of time would end it, too, with words of its own.
    t.equal(said.match(/HTTP\/1\.1/g)?.length, 1, 'at once')
  }
  t.match(
    await say(rig, head('GET', wrong, 'Content-Length: 100000000')),
    /^HTTP\/1\.1 403 [^]*connection: close/i,
  )
})

t.test('who is gone before the first byte, or in the middle of a handshake, is no fault', async t => {
  const rig = await startRig(t)
  const hello = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
  for (let n = 0; n < 20; n += 1) {
    const { socket, write } = openTcp(rig.service().publicUrl)
    await once(socket, 'connect')
    if (n % 2 === 1) write(hello)
    if (n % 4 < 2) socket.resetAndDestroy()
    else socket.end()
  }
  t.equal((await rig.post('sms', smsBody())).errCode, 0)
  t.notOk(rig.events().some(({ event }) => event === 'fault'))
})

t.test('behind a trusted proxy the callers it names have shares, not the proxy', async t => {
  const rig = await startRig(t, { TLS: 'off', TRUSTED_PROXIES: '127.0.0.1' })
  const through = async (caller: string) => {
    const raw = await openRaw(rig.service().publicUrl)
    t.teardown(() => raw.socket.destroy())
    raw.write(head('GET', '/', `X-Forwarded-For: ${caller}`))
    await raw.says(/^HTTP\/1\.1 404 [^]*\}$/)
    return raw.socket
  }
  const quiet = await through('203.0.113.7')
  const noisy: net.Socket[] = []
  for (let n = 0; n < 1100; n += 100)
    noisy.push(...(await Promise.all(Array.from({ length: 100 }, (_, at) => through(`192.0.2.${at}`)))))
  t.notOk(quiet.destroyed, 'the oldest of all, of a caller with one connection')
  const open = () => noisy.filter(({ destroyed }) => !destroyed).length
  // That they were hung up on is noticed here when this process has its turn.
  await until(() => open() <= 1000, 'a hundred are hung up on')
  t.ok(open() <= 1000)
})
