import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import { COUNTERS, HISTOGRAMS } from '../../src/admin/metrics/table.ts'
import { createEmitter } from '../../src/events/events.ts'
import { everyEvent, view } from '../admin/every-event.ts'
import { englishIn } from '../language/english.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rules = read('docker/prometheus-rules.yaml')
const dashboard = read('docker/grafana-dashboard.json')

const metrics = createMetrics(['smtp', 'twilio'])
const emit = createEmitter(metrics.sinks)
for (const event of everyEvent) emit(event)

/** A series of a scrape: its labels and their values. */
type Series = ReadonlyMap<string, string>

/** Metrics of a scrape by name. A histogram is there under the names of its parts. */
async function scrapedSeries(): Promise<ReadonlyMap<string, readonly Series[]>> {
  const found = new Map<string, Series[]>()
  for (const [, name = '', labels = ''] of (await metrics.scrape(view)).matchAll(
    /^(\w+)(?:\{(.*)\})? \S+$/gm,
  )) {
    const series = new Map(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => [label, value]),
    )
    found.set(name, [...(found.get(name) ?? []), series])
  }
  return found
}

/** An expression of PromQL, and the labels that the text beside it shows. */
interface Query {
  readonly expression: string
  readonly shown: readonly string[]
}

const SHOWN = /\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g
const shownIn = (text: string) => [...text.matchAll(SHOWN)].map(([, label = '']) => label)

const queries: readonly Query[] = [
  ...rules
    .split(/^\s+- alert: /m)
    .slice(1)
    .map(rule => ({
      expression: /^ +expr: ([\s\S]*?)\n +(?:for|labels):/m.exec(rule)?.[1] ?? '',
      shown: shownIn(rule),
    })),
  ...(JSON.parse(dashboard).panels as { targets?: { expr: string; legendFormat?: string }[] }[])
    .flatMap(panel => panel.targets ?? [])
    .map(({ expr, legendFormat = '' }) => ({ expression: expr, shown: shownIn(legendFormat) })),
]

/** Metrics of an expression, with the text of their selectors. */
function selectionsOf(expression: string): readonly { readonly name: string; readonly matchers: string }[] {
  return [...expression.matchAll(/\b((?:callback_courier|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({ name, matchers }),
  )
}

t.test(
  'every metric that a rule or a panel selects exists, with the labels and values it selects by',
  async t => {
    const series = await scrapedSeries()
    t.ok(queries.length > 30, `${queries.length} queries`)
    for (const { expression } of queries) {
      for (const { name, matchers } of selectionsOf(expression)) {
        const all = series.get(name) ?? []
        t.ok(all.length > 0, `${name} in ${expression}`)
        for (const [, label = '', , values = ''] of matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g))
          for (const value of values.split('|'))
            t.ok(
              all.some(each => each.get(label) === value),
              `${name}{${label}="${value}"}`,
            )
      }
    }
  },
)

t.test('a rule asks for the increase only of what is there from the start, at 0', async t => {
  const initial = [...COUNTERS, ...HISTOGRAMS].filter(row => row.initial).map(({ name }) => name)
  const asked = [...rules.matchAll(/\b(?:increase|rate)\(callback_courier_(\w+?)(?:_bucket)?[{[]/g)]
  t.ok(asked.length > 10, `${asked.length} places`)
  for (const [, name = ''] of asked) t.ok(initial.includes(name), name)
})

t.test('every label that a rule or a panel groups by or shows is one of its metrics', async t => {
  const series = await scrapedSeries()
  for (const { expression, shown } of queries) {
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
      names.split(/,\s*/),
    )
    const names = selectionsOf(expression).map(({ name }) => name)
    for (const label of grouped)
      for (const name of names)
        t.ok(
          series.get(name)?.some(each => each.has(label)),
          `${name} has ${label}: ${expression}`,
        )
    for (const label of shown.filter(each => each !== 'instance')) {
      const known =
        grouped.length > 0
          ? grouped.includes(label)
          : names.some(name => series.get(name)?.some(each => each.has(label)))
      t.ok(known, `${label} is shown beside ${expression}`)
    }
  }
})

t.test('reasons are bounded: what servers say cannot make the metrics grow without end', async t => {
  const bounded = createMetrics([])
  const report = createEmitter(bounded.sinks)
  const message = { channel: 'email' } as never
  for (let n = 0; n < 500; n += 1) {
    report({
      type: 'attempt',
      message,
      provider: 'smtp',
      outcome: { is: 'retry', whose: 'later', code: `4${n}`, reply: '' },
      attempts: 1,
      tookMs: 1,
    })
  }
  const lines = (await bounded.scrape(view))
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

t.test('the Chinese rules are the same rules, and speak Chinese', async t => {
  const chinese = read('docker/prometheus-rules.zh-CN.yaml')
  const blank = (text: string) =>
    text.replaceAll(/^ *#.*\n/gm, '').replaceAll(/^( +(?:summary|description|runbook):).*$/gm, '$1')
  t.equal(blank(chinese), blank(rules))
  const wordsOf = (text: string) => text.match(/^ +(?:summary|description|runbook): .*$/gm) ?? []
  const english = wordsOf(rules)
  for (const [at, text] of wordsOf(chinese).entries()) {
    const runbook = /runbook: (.*)$/.exec(text)?.[1]
    t.same((text.match(/\{\{.*?\}\}/g) ?? []).sort(), (english[at]?.match(/\{\{.*?\}\}/g) ?? []).sort(), text)
    if (runbook === undefined) {
      t.match(text, /\p{Script=Han}/u)
      t.same(englishIn(text.replaceAll(/\{\{.*?\}\}|^ +\w+:/g, ''), ['webhooks']), [], text)
    } else {
      const [page = '', section = ''] = runbook.split('#')
      t.match(read(page).toLowerCase(), `### ${section}\n`)
    }
  }
})

t.test('the Chinese dashboard is the same dashboard, and speaks Chinese', async t => {
  const chinese = read('docker/grafana-dashboard.zh-CN.json')
  const words = /^ *"(?:title|legendFormat|label|description)": "(.*)",?$/gm
  t.equal(chinese.replaceAll(words, ''), dashboard.replaceAll(words, ''))
  for (const [, text = ''] of chinese.matchAll(words))
    t.same(
      englishIn(text.replaceAll(/\{\{\w+\}\}/g, ''), ['callback-courier', 'CPU', 'p50', 'p99']),
      [],
      text,
    )
})
