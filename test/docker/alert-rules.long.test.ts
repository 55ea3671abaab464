import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import { createEmitter } from '../../src/events/events.ts'
import { everyEvent, view } from '../admin/every-event.ts'

/** Plays time series to the alert rules, as promtool's unit tests do: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */

const RULES = join(import.meta.dirname, '../../docker/prometheus-rules.yaml')

interface Play {
  readonly alert: string
  readonly is: string
  /** By its name after `callback_courier_`: a sample a minute, in promtool's notation. */
  readonly series: readonly (readonly [name: string, values: string])[]
  /** Minutes at which it fires, and at which it does not. */
  readonly fires: readonly number[]
  readonly silent: readonly number[]
}

/** `alert | what is played | minutes at which it fires | and at which it does not`, and its series. */
const PLAYS: readonly Play[] = readFileSync(join(import.meta.dirname, '../fixtures/alert-plays.txt'), 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .trim()
  .split(/\n(?=\S)/)
  .map(play => {
    const [head = '', ...lines] = play.split('\n  ')
    const [alert = '', is = '', fires, silent] = head.split(' | ')
    const minutes = (text = '') => (text.match(/\d+/g) ?? []).map(Number)
    const series = lines.map((line): [string, string] => {
      const at = line.indexOf(' ')
      return [line.slice(0, at), line.slice(at + 1)]
    })
    return { alert, is, series, fires: minutes(fires), silent: minutes(silent) }
  })

/** The series under its full name, with the labels that Prometheus adds to a target's. */
function fullName(series: string): string {
  const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? []
  const target = labels.includes('instance=') ? [] : ['instance="a"']
  const all = [labels, 'job="callback-courier"', ...target].filter(each => each !== '').join(',')
  return `${name === 'up' ? '' : 'callback_courier_'}${name}{${all}}`
}

/** One of promtool's tests. It reads YAML, of which JSON is a part. */
function testOf({ alert, is, series, fires, silent }: Play) {
  const expr = `count(ALERTS{alertname=~"CallbackCourier${alert}",alertstate="firing"})`
  const at = (minute: number, samples: readonly object[]) => ({
    expr,
    eval_time: `${minute}m`,
    exp_samples: samples,
  })
  return {
    name: `${alert}: ${is}`,
    interval: '1m',
    input_series: series.map(([name, values]) => ({ series: fullName(name), values })),
    promql_expr_test: [
      ...fires.map(minute => at(minute, [{ labels: '{}', value: 1 }])),
      ...silent.map(minute => at(minute, [])),
    ],
  }
}

t.test('every rule is played', async t => {
  const played = new Set(PLAYS.filter(({ fires }) => fires.length > 0).map(({ alert }) => alert))
  for (const [, alert = ''] of readFileSync(RULES, 'utf8').matchAll(/- alert: CallbackCourier(\w+)/g))
    t.ok(played.has(alert), alert)
})

const noPromtool =
  spawnSync('promtool', ['--version']).error === undefined ? false : 'promtool is not installed'
t.test(
  'rules fire for the first event ever, across a restart and for a target that is gone',
  { skip: noPromtool },
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'courier-rules-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'plays.yaml')
    const plays = { rule_files: [RULES], evaluation_interval: '1m', tests: PLAYS.map(testOf) }
    writeFileSync(file, JSON.stringify(plays))
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    t.equal(status, 0, `${stdout}${stderr}`)
  },
)

t.test('promtool accepts the rules and the scrape', { skip: noPromtool }, async t => {
  const metrics = createMetrics(['smtp', 'twilio'])
  const emit = createEmitter(metrics.sinks)
  for (const event of everyEvent) emit(event)
  t.match(
    execFileSync('promtool', ['check', 'rules', RULES], {
      encoding: 'utf8',
    }),
    /SUCCESS/,
  )
  const checked = spawnSync('promtool', ['check', 'metrics'], {
    input: await metrics.scrape(view),
    encoding: 'utf8',
  })
  // the library's own default metrics are not all named by the book; ours are.
  t.notMatch(`${checked.stdout}${checked.stderr}`, /callback_courier/)
})
