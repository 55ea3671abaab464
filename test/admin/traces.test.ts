import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createSpanExporter } from '../../src/admin/traces/exporter.ts'
import { createSampler } from '../../src/admin/traces/sampler.ts'
import type { Span } from '../../src/admin/traces/span.ts'
import { parseTraceparent } from '../../src/admin/traces/trace-context.ts'
import { createTraceSink } from '../../src/admin/traces/trace-sink.ts'
import { createEmitter } from '../../src/events/events.ts'
import { type CollectedSpan, startCollector } from '../rigs/collector.ts'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const CODE = 'canaryCode482913'

/** A span and those below it, as `name(child child)`, in the order in which they began. */
function treeOf(spans: readonly CollectedSpan[], root: CollectedSpan): string {
  // A commit begins when its message does, but for a rounding.
  const beginOf = ({ name, startedAt }: CollectedSpan) => (name === 'commit' ? 0 : startedAt)
  const children = spans
    .filter(({ parentSpanId }) => parentSpanId === root.spanId)
    .sort((a, b) => beginOf(a) - beginOf(b) || a.endedAt - b.endedAt)
  const below = children.map(each => treeOf(spans, each)).join(', ')
  return below === '' ? root.name : `${root.name}(${below})`
}

t.test('one trace a callback: commit, queue, attempts and verdict, below the caller', async t => {
  const collector = await startCollector()
  t.teardown(() => collector.close())
  const rig = await startRig(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=canary%20key',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  rig.smtp.act = ({ step, connection }) =>
    step === 'RCPT' && connection === 1 ? { is: 'say', reply: '451 4.7.1 later', close: true } : undefined
  const ask = (body: object, headers: Record<string, string> = {}) =>
    rig.ask(rig.path('email'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const code = mailBody({ to: 'canary.ann@example.com' }, { type: 5, code: CODE })
  t.match(await ask(code, { traceparent: `00-${TRACE}-${CALLER}-01` }), { errCode: 0 })
  await until(() => rig.smtp.mails.length === 1, 'it is sent', 20_000)
  rig.smtp.act = undefined
  t.match(await rig.post('sms', smsBody({}, { code: CODE })), { errCode: 0 })
  t.match(await ask(mailBody({ to: 'nobody' })), { status: 400 })
  t.match(await ask(code, { traceparent: `00-${'9'.repeat(32)}-${CALLER}-00` }), { errCode: 0 })
  await rig.ask(rig.path('email').replace(/\/email$/, 'x/email'), {
    method: 'POST',
    headers: { traceparent: `00-${TRACE}-${CALLER}-01` },
  })
  await rig.validate('email')
  await rig.service().close()

  const { spans } = collector
  const roots = spans.filter(({ kind }) => kind === 2)
  t.equal(roots.length, 3, 'neither a stranger, nor a validation, nor what its caller does not sample')
  const [mail, sms, refused] = roots as [CollectedSpan, CollectedSpan, CollectedSpan]
  const called = roots.find(({ traceId }) => traceId === TRACE)
  t.equal(called?.parentSpanId, CALLER)
  t.match(
    called === undefined ? '' : treeOf(spans, called),
    /^POST \/callback\/\{corp_id\}\/\{key\}\/email\(commit, message\((?:queue, )?attempt smtp, queue, attempt smtp\)\)$/,
  )
  t.ok(roots.some(each => /sms\(commit, message\((?:queue, )?attempt twilio\)\)$/.test(treeOf(spans, each))))
  for (const each of [mail, sms, refused])
    t.match(each.attributes['http.route'], /^\/callback\/\{corp_id\}\/\{key\}\/(?:email|sms)$/)
  t.equal(roots.filter(({ failed }) => failed).length, 1)
  const message = spans.find(({ name, traceId }) => name === 'message' && traceId === TRACE)
  t.match(message?.attributes, { 'callback_courier.state': 'sent', 'callback_courier.kind': /code/ })
  const attempts = spans.filter(({ name }) => name === 'attempt smtp')
  t.same(
    attempts.map(({ failed, attributes }) => [failed, attributes['callback_courier.outcome']]),
    [
      [true, 'retry'],
      [false, 'sent'],
    ],
  )
  t.ok(spans.every(({ startedAt, endedAt }) => startedAt <= endedAt))
  t.ok(spans.every(({ traceId, spanId }) => /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId)))
  t.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)

  t.equal(collector.requests[0]?.path, '/v1/traces')
  t.equal(collector.requests[0]?.headers['api-key'], 'canary key')
  t.match(collector.resources[0], {
    'service.name': 'callback-courier',
    'deployment.environment.name': 'test',
  })
  const said = collector.requests.map(({ body }) => body).join('\n')
  t.notMatch(said, /canary|example\.com|13800138000|\+86/)
  t.notMatch(said, rig.path('email').split('/')[3] ?? '?', 'nor the key of the URL')
  t.notMatch(rig.log.join('\n'), /canary key|canary%20key/)
})

t.test('a message that this process did not store keeps to one trace, which follows from its id', t => {
  const spans: Span[] = []
  const id = '019ab3c4d5e64f708192a3b4c5d6e7f8'
  const emit = createEmitter([sinkInto(spans)])
  emitEnd(emit, id)
  emitEnd(emit, id)
  t.equal(spans.length, 4)
  t.ok(spans.every(({ traceId }) => traceId === id))
  const [attempt, message] = spans
  t.equal(attempt?.parentId, message?.spanId)
  t.equal(message?.parentId, undefined)
  t.end()
})

t.test('a callback whose duplicate comes meanwhile keeps its own root', t => {
  const spans: Span[] = []
  const emit = createEmitter([sinkInto(spans)])
  const [id, caller] = ['a'.repeat(32), 'b'.repeat(16)]
  const traceparent = `00-${TRACE}-${caller}-01`
  emit({ type: 'stored', ids: [id], tookMs: 1, traceparent })
  const callback = {
    type: 'callback',
    channel: 'sms',
    method: 'POST',
    kind: 'login-code',
    answer: { err_code: 0, err_msg: '' },
    refusal: null,
    signature: 'right',
    outdated: false,
    ids: [id],
    tookMs: 5,
  } as const
  emit({ ...callback, stored: [], traceparent: undefined })
  emit({ ...callback, stored: [id], traceparent })
  const [commit, duplicate, root] = spans
  t.not(duplicate?.traceId, TRACE)
  t.equal(root?.traceId, TRACE)
  t.equal(root?.parentId, caller)
  t.equal(commit?.parentId, root?.spanId)
  t.end()
})

t.test('what is known of messages is bounded', t => {
  const spans: Span[] = []
  const emit = createEmitter([sinkInto(spans)])
  const id = (n: number) => n.toString(16).padStart(32, '0')
  for (let n = 0; n < 10_001; n += 1)
    emit({ type: 'stored', ids: [id(n)], tookMs: 1, traceparent: undefined })
  spans.length = 0
  emitEnd(emit, id(0))
  emitEnd(emit, id(10_000))
  const parents = spans.filter(({ name }) => name === 'message').map(({ parentId }) => parentId === undefined)
  t.same(parents, [true, false], 'the oldest made room')
  t.end()
})

t.test('a traceparent is read as the standard has it', t => {
  const good = `00-${TRACE}-${CALLER}-01`
  t.same(parseTraceparent(good), { traceId: TRACE, spanId: CALLER, sampled: true })
  t.match(parseTraceparent(`00-${TRACE}-${CALLER}-02`), { sampled: false })
  t.match(parseTraceparent(`cc-${TRACE}-${CALLER}-01-more`), { sampled: true })
  for (const bad of [
    undefined,
    '',
    'x',
    good.toUpperCase(),
    `${good}-more`,
    `${good} `,
    `ff-${TRACE}-${CALLER}-01`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${CALLER}`,
  ])
    t.equal(parseTraceparent(bad), null, String(bad))
  t.end()
})

t.test('samplers', t => {
  const ids = Array.from(
    { length: 1000 },
    (_, n) => TRACE.slice(0, 18) + ((n * 0x41c6_4e6d_1234) % 2 ** 52).toString(16).padStart(14, '0'),
  )
  const parent = (sampled: boolean) => ({ traceId: TRACE, spanId: CALLER, sampled })
  t.ok(createSampler('always_on', 0)(TRACE, parent(false)))
  t.notOk(createSampler('always_off', 1)(TRACE, parent(true)))
  t.ok(createSampler('parentbased_always_off', 0)(TRACE, parent(true)))
  t.notOk(createSampler('parentbased_always_off', 0)(TRACE, null))
  t.notOk(createSampler('parentbased_always_on', 0)(TRACE, parent(false)))
  t.ok(createSampler('parentbased_always_on', 0)(TRACE, null))
  t.ok(ids.every(id => createSampler('traceidratio', 1)(id, null)))
  t.notOk(ids.some(id => createSampler('traceidratio', 0)(id, null)))
  const half = createSampler('parentbased_traceidratio', 0.5)
  t.ok(half(`${TRACE.slice(0, 18)}80000000000000`, null))
  t.notOk(half(`${TRACE.slice(0, 18)}7fffffff000000`, null))
  t.end()
})

t.test(
  'a collector that is away, slow or hostile: bounded, one line of the log, and nobody waits',
  async t => {
    const { exporter, lines, collector, clock } = await openExporter(t)
    for (const [act, reason] of [
      [{ is: 'drop' }, 'UND_ERR_SOCKET'],
      [{ is: 'answer', status: 503 }, 'HTTP 503'],
      [{ is: 'answer', status: 400, body: 'canary' }, 'HTTP 400'],
      [{ is: 'answer', status: 302 }, 'HTTP 302'],
      [{ is: 'answer', status: 200, body: 'x'.repeat(300_000) }, 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
      [{ is: 'stall' }, 'UND_ERR_HEADERS_TIMEOUT'],
    ] as const) {
      collector.act = act
      clock.skip(61_000)
      const before = lines.length
      exporter.record(SPAN)
      await until(() => lines.length > before, 'it is said', 20_000)
      const { length } = collector.requests
      for (let n = 0; n < 5000; n += 1) exporter.record(SPAN)
      await until(() => collector.requests.length > length, 'it is tried again', 20_000)
      t.match(lines.slice(before), [{ event: 'traces', reason }], `one line: ${reason}`)
      t.equal(lines.length, before + 1)
      collector.act = undefined
      await until(() => lines.length > before + 1, 'it is well again', 20_000)
      t.match(lines.at(-1), { event: 'traces', lost: Number })
      t.ok(Number(lines.at(-1)?.['lost']) >= 5000 - 2048)
    }
    t.ok(collector.requests.every(({ body }) => body.length < 512 * 600))
    t.notMatch(JSON.stringify(lines), 'canary')
    collector.act = { is: 'stall' }
    exporter.record(SPAN)
    const began = performance.now()
    await exporter.close()
    t.ok(performance.now() - began < 4000, 'an end is not held up')
  },
)

t.test('what is full goes out at once, the rest after a while, and what is left at the end', async t => {
  const { exporter, collector } = await openExporter(t, 200)
  for (let n = 0; n < 600; n += 1) exporter.record(SPAN)
  await until(() => collector.spans.length === 600, 'all came')
  exporter.record(SPAN)
  await until(() => collector.spans.length === 601, 'after a while')
  exporter.record(SPAN)
  await exporter.close()
  t.equal(collector.spans.length, 602)
})

t.test('nothing of it is loaded while it is off', t => {
  const root = join(import.meta.dirname, '../../src')
  for (const file of globSync('**/*.ts', { cwd: root }).filter(each => !each.startsWith('admin/traces/'))) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [line] of text.matchAll(/^import (?!type ).*admin\/traces\/.*$/gm)) t.fail(`${file}: ${line}`)
  }
  t.match(
    readFileSync(join(root, 'service/wiring.ts'), 'utf8'),
    /await import\('\.\.\/admin\/traces\/traces\.ts'\)/,
  )
  t.end()
})

const SPAN: Span = {
  traceId: TRACE,
  spanId: CALLER,
  name: 'commit',
  kind: 'internal',
  startedAt: 1,
  endedAt: 2,
  attributes: {},
}

function sinkInto(spans: Span[]) {
  let count = 0
  const randomHex = (octets: number) => (++count).toString(16).padStart(octets * 2, '0')
  return createTraceSink({
    now: () => 1_000_000,
    sample: () => true,
    randomHex,
    record: span => void spans.push(span),
  })
}

function emitEnd(emit: ReturnType<typeof createEmitter>, id: string): void {
  const message = { id, channel: 'sms', kind: 'login-code', masked: '+86*******8000' } as const
  const outcome = { is: 'sent', reply: 'ok' } as const
  emit({ type: 'attempt', message, provider: 'twilio', outcome, attempts: 1, tookMs: 5 })
  emit({ type: 'final', id, channel: 'sms', kind: 'login-code', state: 'sent', answer: null, tookMs: 9 })
}

async function openExporter(t: Test, everyMs = 20) {
  const collector = await startCollector()
  const lines: Record<string, unknown>[] = []
  const log = pino(
    { base: null },
    { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  )
  let skipped = 0
  const clock = { now: () => Date.now() + skipped, skip: (ms: number) => void (skipped += ms) }
  const exporter = createSpanExporter({
    url: `${collector.url}/v1/traces`,
    headers: {},
    origin: { resource: {}, version: '1' },
    clock,
    log,
    limits: { connectMs: 500, answerMs: 300, bodyMs: 300 },
    everyMs,
  })
  t.teardown(() => Promise.all([exporter.close(), collector.close()]))
  return { exporter, lines, collector, clock }
}
