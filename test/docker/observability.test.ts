import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import type { MetricsSources } from '../../src/admin/metrics/scraped.ts'
import { createEmitter } from '../../src/events/events.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rules = read('docker/prometheus-rules.yaml')
const dashboard = read('docker/grafana-dashboard.json')

const sources: MetricsSources = {
  backlog: () =>
    Promise.resolve({ backlog: { email: 1, sms: 0 }, oldest: { email: 1000, sms: null }, bytes: 4096 }),
  lanes: () => [
    { channel: 'email', provider: 'smtp', inFlight: 1, waiting: 2, breaker: 'open', breakerUntil: 5000 },
  ],
  certificateDays: () => 12.5,
  renewalRefused: () => true,
  now: () => 61_000,
}
const metrics = createMetrics(sources, true)
const emit = createEmitter(metrics.sinks)

t.test(
  'every metric that a rule or a panel asks for exists, and so does each label it selects by',
  async t => {
    const scrape = await metrics.scrape()
    const names = new Set([...scrape.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''))
    for (const [file, text] of [
      ['rules', rules],
      ['dashboard', dashboard],
    ] as const) {
      const asked = new Set(
        [...text.matchAll(/\b(callback_courier_\w+|nodejs_\w+|process_\w+)/g)].map(([name]) => name),
      )
      t.ok(asked.size > 5, `${file} asks for ${asked.size} metrics`)
      for (const name of asked)
        t.ok(names.has(name.replace(/_(?:bucket|sum|count)$/, '')) || names.has(name), `${file}: ${name}`)
    }
  },
)

t.test('a scrape says what is waiting, since when, and how the certificate does', async t => {
  const scrape = await metrics.scrape()
  t.match(scrape, 'callback_courier_backlog{channel="email"} 1')
  t.match(scrape, 'callback_courier_oldest_seconds{channel="email"} 60')
  t.match(scrape, 'callback_courier_oldest_seconds{channel="sms"} 0')
  t.match(scrape, 'callback_courier_breaker_open{provider="smtp"} 1')
  t.match(scrape, 'callback_courier_certificate_remaining_seconds 1080000')
  t.match(scrape, 'callback_courier_certificate_renewal_refused 1')
  t.match(scrape, 'callback_courier_store_up 1')
})

t.test('reasons are bounded: what servers say cannot make the metrics grow without end', async t => {
  const message = { channel: 'email' } as never
  for (let n = 0; n < 500; n += 1) {
    emit({
      type: 'attempt',
      message,
      provider: 'smtp',
      outcome: { is: 'retry', whose: 'later', code: `4${n}`, reply: '' },
      attempts: 1,
      tookMs: 1,
    })
  }
  const lines = (await metrics.scrape())
    .split('\n')
    .filter(line => line.startsWith('callback_courier_attempts_total{'))
  t.ok(lines.length <= 61, `${lines.length} series`)
  t.ok(lines.some(line => line.includes('reason="other"')))
})

t.test('every alert stands in docs/operations.md with what to do', async t => {
  const operations = read('docs/operations.md')
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '')
  t.ok(alerts.length > 8)
  for (const alert of alerts) {
    t.match(operations, `### ${alert}\n`)
    t.match(rules, `runbook: docs/operations.md#${alert.toLowerCase()}`)
  }
})

const promtool = spawnSync('promtool', ['--version']).error === undefined
t.test(
  'promtool accepts the rules and the scrape',
  { skip: promtool ? false : 'promtool is not installed' },
  async t => {
    t.match(
      execFileSync('promtool', ['check', 'rules', join(root, 'docker/prometheus-rules.yaml')], {
        encoding: 'utf8',
      }),
      /SUCCESS/,
    )
    const checked = spawnSync('promtool', ['check', 'metrics'], {
      input: await metrics.scrape(),
      encoding: 'utf8',
    })
    // prom-client's own default metrics are not all named by the book; ours are.
    t.notMatch(`${checked.stdout}${checked.stderr}`, /callback_courier/)
  },
)
