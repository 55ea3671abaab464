import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { createAdmission, createRequestMemory } from '../../src/callback/admission.ts'
import { keepReports, receiptRoutes } from '../../src/callback/receipt-routes.ts'
import type { ServiceEvent } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import { type DeliveryReport, StoreUnavailable } from '../../src/outbox/outbox.ts'
import type { BounceSource, ReceiptSource } from '../../src/providers/receipts.ts'
import { receiptKeys } from '../../src/providers/receipts.ts'
import { until } from '../rigs/until.ts'

const TOKENS = { SMS_TOKEN: 'token-of-the-channel', SMS_TOKEN_PREVIOUS: 'the-token-before-it' }
const KEYS = receiptKeys('made-up', TOKENS)

/** A carrier that posts arrays of `[id, status]`. */
async function start(t: Test, source: Partial<ReceiptSource> | BounceSource = {}) {
  const app = fastify()
  t.teardown(async () => app.close())
  const written: DeliveryReport[] = []
  const events: ServiceEvent[] = []
  const memory = createRequestMemory()
  const rig = { app, memory, written, events, works: true, storeMs: 0 }
  await app.register(receiptRoutes, {
    source: {
      path: '/receipt/made-up',
      keys: KEYS,
      format: 'json',
      taken: { code: 0, msg: 'taken' },
      parseReports: ({ body }) =>
        (Array.isArray(body) ? body : []).map(each => ({
          providerId: String(each[0]),
          status: String(each[1]),
          errorCode: null,
        })),
      ...source,
    },
    async writeReceipt(report) {
      if (!rig.works) throw new StoreUnavailable(quote('no'))
      if (rig.storeMs > 0) await setTimeout(rig.storeMs)
      written.push(report)
      return {
        is: 'recorded',
        kind: 'login-code',
        masked: '+86*******8000',
        recipient: 'h',
        country: 'CN',
        arrivedAt: 0,
      }
    },
    provider: 'made-up',
    memory,
    now: () => 1_000,
    emit: event => events.push(event),
    headers: { 'cache-control': 'no-store' },
  })
  const post = async (url: string, payload: string, type = 'application/json') =>
    app.inject({ method: 'POST', url, payload, headers: { 'content-type': type } })
  return { ...rig, rig, post }
}

const url = `/receipt/made-up/${KEYS[0]}`

t.test('reports are taken whatever their Content-Type, and answered as the carrier wants', async t => {
  const { post, written } = await start(t)
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'x/y;a=b']) {
    const answer = await post(url, '[["a^0","delivered"],["b:1","undelivered"]]', type)
    t.same([answer.statusCode, answer.json()], [200, { code: 0, msg: 'taken' }], type)
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  t.same(written.slice(0, 2), [
    { channel: 'sms', providerId: 'a^0', status: 'delivered', errorCode: null, at: 1_000 },
    { channel: 'sms', providerId: 'b:1', status: 'undelivered', errorCode: null, at: 1_000 },
  ])
})

t.test('who knows a key is heard, that of the previous Token too; another carrier’s is none', async t => {
  const { post, written, events } = await start(t)
  t.equal((await post(`/receipt/made-up/${KEYS[1]}`, '[["a","sent"]]')).statusCode, 200)
  const others = ['x', 'f'.repeat(32), receiptKeys('another', TOKENS)[0], KEYS[0]?.toUpperCase(), '%00']
  for (const key of others) {
    const answer = await post(`/receipt/made-up/${key}`, '[["b","sent"]]')
    t.same([answer.statusCode, answer.json().err_code], [403, 4031003], String(key))
  }
  t.equal((await post('/receipt/made-up', '[["b","sent"]]')).statusCode, 404)
  t.match([written.length, written[0]], [1, { providerId: 'a' }])
  t.equal(events.filter(each => each.type === 'receipt' && each.result === 'forged').length, others.length)
})

t.test('garbage is refused or ignored, and never a fault', async t => {
  const { post, written } = await start(t)
  for (const body of ['', '{', '\u0000', 'a=b', '[['])
    t.equal((await post(url, body)).statusCode, 400, JSON.stringify(body))
  for (const body of 'null|{}|1|"a"|[]|[["a\\u0000b","sent"]]|[["a","<b> c"]]|[["","sent"]]'.split('|'))
    t.equal((await post(url, body)).statusCode, 200, body)
  t.same(written, [])
  const codes = ['30003', null, 'no room', 'x'.repeat(65)]
  const parseReports = () => codes.map(errorCode => ({ providerId: 'a', status: 'sent', errorCode }))
  const coded = await start(t, { parseReports })
  t.equal((await coded.post(url, '[]')).statusCode, 200)
  const kept = coded.written.map(({ errorCode }) => errorCode)
  t.same(kept, ['30003', null])
})

t.test('two megabytes are read to the last report, and what is larger is refused as that', async t => {
  const { post, written } = await start(t)
  const many = Array.from({ length: 20_000 }, (_, n) => [
    `report-${n}-${'x'.repeat(40)}`,
    n % 2 ? 'sent' : 'delivered',
  ])
  const batch = JSON.stringify(many)
  t.ok(batch.length > 1_000_000 && batch.length < 2 * 1024 * 1024)
  t.equal((await post(url, batch)).statusCode, 200)
  t.equal(written.length, many.length)
  const large = await post(url, `["${'x'.repeat(2 * 1024 * 1024)}"]`)
  t.same([large.statusCode, large.json().err_code], [413, 4002001])
  let begun = 0
  const writeReceipt = () => new Promise<never>(() => (begun += 1))
  const reports = many.slice(0, 251).map(() => ({ providerId: 'a', status: 'sent', errorCode: null }))
  const options = { writeReceipt, provider: 'x', now: () => 0, emit: () => {} }
  void keepReports('sms', reports, options)
  t.equal(begun, 250, 'share a commit')
})

t.test('what is signed may have eight kilobytes and a hundred fields', async t => {
  const read: number[] = []
  const parseReports: ReceiptSource['parseReports'] = ({ body }) => {
    read.push(Object.keys(body as object).length)
    return []
  }
  const { post } = await start(t, { keys: undefined, format: 'form', parseReports })
  const fields = Array.from({ length: 101 }, (_, n) => `f${n}=&`).join('')
  const form = 'application/x-www-form-urlencoded'
  const answers = [8192, 8193].map(n => post('/receipt/made-up', fields.padEnd(n, 'x'), form))
  t.match(await Promise.all(answers), [{ statusCode: 200 }, { statusCode: 413 }])
  t.same(read, [100])
})

t.test('a report that does not say how long it is counts by what has come of it', async t => {
  const { app, memory } = await start(t)
  const statuses: number[] = []
  app.server.prependListener('request', (_request, response) =>
    response.once('finish', () => statuses.push(response.statusCode)),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const senders = Array.from({ length: 16 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    // Two megabytes less a few octets, and no end.
    socket.write(`POST ${url} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n`)
    socket.write(chunk.repeat(31))
    return socket
  })
  t.teardown(() => senders.forEach(socket => socket.destroy()))
  await until(() => statuses.length >= 12, 'all but four are refused')
  t.same(new Set(statuses), new Set([503]))
  const admission = createAdmission(() => 0, memory)
  t.ok(admission.admit(300)?.noteBodyRead(), 'and there is room for callbacks')
  for (const socket of senders) socket.write('0\r\n\r\n')
  await until(() => statuses.length === 16, 'all are answered')
  const taken = statuses.filter(status => status === 200).length
  t.ok(taken >= 1 && taken <= 4, `${taken} are taken`)
})

t.test('reports and callbacks share their memory, a quarter of which is for callbacks alone', async t => {
  const { memory, post } = await start(t)
  const admission = createAdmission(() => 0, memory)
  const admitted = Array.from({ length: 63 }, () => admission.admit(65_536))
  for (const each of admitted) t.ok(each?.noteBodyRead())
  const answer = await post(url, '[["a","sent"]]')
  t.same([answer.statusCode, answer.headers['retry-after']], [503, '5'])
  for (const each of admitted.slice(15)) each?.end()
  t.equal((await post(url, '[["a","sent"]]')).statusCode, 200)
  const long = JSON.stringify([['a', 'x'.repeat(2_000_000)]])
  for (const each of admitted.slice(3)) each?.end()
  t.equal((await post(url, long)).statusCode, 200)
  const hold = memory()
  t.ok(hold(45_000_000))
  t.equal((await post(url, long)).statusCode, 503, 'a long one that finds no room')
  t.equal((await post(url, '[["a","sent"]]')).statusCode, 200, 'where a short one does')
})

t.test('a state that has no meaning is told once, and a text is answered as it stands', async t => {
  const { post, events } = await start(t, {
    taken: 'SUCCESS',
    parseReports(_request, onUnknownState) {
      for (const state of ['HELD', 'HELD', 'to 13800138000']) onUnknownState?.(state)
      for (let n = 0; n < 99; n += 1) onUnknownState?.(`S${n}`)
      return []
    },
  })
  for (let n = 0; n < 2; n += 1) {
    const answer = await post(url, '[]')
    t.same([answer.statusCode, answer.body], [200, 'SUCCESS'])
    t.match(answer.headers['content-type'], /^text\/plain/)
  }
  t.equal(events.length, 100, 'and no more than a hundred')
  t.same(events.slice(0, 2), [
    { type: 'receipt-state', path: '/receipt/made-up', state: 'HELD' },
    { type: 'receipt-state', path: '/receipt/made-up', state: 'to …' },
  ])
})

t.test('a challenge is answered by itself, where it is a word', async t => {
  const { app } = await start(t, { challenge: 'hub.challenge' })
  const bodies = ['11_a-B', '%3Cb%3E', 'x'.repeat(101)].map(
    async said => (await app.inject(`${url}?hub.mode=x&hub.challenge=${said}`)).body,
  )
  t.same(await Promise.all(bodies), ['11_a-B', '', ''])
})

t.test('what the store cannot take now is asked for again', async t => {
  const { post, rig } = await start(t)
  rig.works = false
  const answer = await post(url, '[["a","sent"],["b","sent"]]')
  t.same([answer.statusCode, answer.headers['retry-after']], [503, '5'])
})

t.test('no key while SMS is off', async t => {
  t.same(receiptKeys('made-up', { SMS_TOKEN: undefined, SMS_TOKEN_PREVIOUS: 'x' }), [])
  t.equal(new Set([...KEYS, ...receiptKeys('another', TOKENS)]).size, 4)
  for (const key of KEYS) t.match(key, /^[0-9a-f]{32}$/)
})

t.test('many short reports are taken at once, in the query or without a word on their length', async t => {
  const byQuery: Partial<ReceiptSource> = {
    format: 'query',
    parseReports: ({ body }) => [
      { providerId: (body as { id: string }).id, status: 'delivered', errorCode: null },
    ],
  }
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const posted = () => ({ method: 'POST', url, headers, payload: Readable.from(['[["a","sent"]]']) }) as const
  for (const [source, request] of [
    [byQuery, () => ({ method: 'GET', url: `${url}?id=m` }) as const],
    [{}, posted],
  ] as const) {
    const { app, rig, written } = await start(t, source)
    rig.storeMs = 100
    const answers = await Promise.all(Array.from({ length: 40 }, () => app.inject(request())))
    t.same([...new Set(answers.map(({ statusCode }) => statusCode))], [200])
    t.equal(written.length, 40)
  }
})

t.test('of a mail that comes in many pieces the first 128 kilobytes are read', async t => {
  const read: unknown[] = []
  const parseReports = async ({ body }: { readonly body: unknown }) => {
    read.push((body as Buffer).length)
    return []
  }
  const { app } = await start(t, { path: '/receipt/bounce', keys: KEYS, format: 'mail', parseReports })
  const payload = Readable.from(Array.from({ length: 9 }, () => Buffer.alloc(30_000, 'x')))
  const headers = { 'content-type': 'message/rfc822' }
  await app.inject({ method: 'POST', url: `/receipt/bounce/${KEYS[0]}`, headers, payload })
  t.same(read, [131_072])
})
