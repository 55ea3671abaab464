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

/** Each is `alert | what is played | minutes at which it fires | and at which it does not`, with its series below. */
const PLAYS: readonly Play[] = `
MailRefused | a third of thirty mails an hour that come back | 130 200 | 50
  messages_total{channel="email",kind="activation-code",state="sent"} 0+0.5x240
  receipts_total{provider="smtp",class="ours",status="undelivered",result="recorded"} 0x60 0+0.17x180
MailRefused | three of five mails that come back, and one of ten |  | 100 200
  messages_total{channel="email",kind="activation-code",state="sent"} 0+0.08x240
  receipts_total{provider="smtp",class="recipient",status="undelivered",result="recorded"} 0+0.05x240
MailComesBack | one of ten mails of a day | 1300 | 60
  messages_total{channel="email",kind="activation-code",state="sent"} 0+0.1x1440
  receipts_total{provider="smtp",class="recipient",status="undelivered",result="recorded"} 0+0.01x1440
MailComesBack | one of fifty mails |  | 600 1300
  messages_total{channel="email",kind="activation-code",state="sent"} 0+0.1x1440
  receipts_total{provider="smtp",class="recipient",status="undelivered",result="recorded"} 0+0.002x1440
MailComesBack | one that was refused by policy, which pages nobody | 15 | 4
  partial_fault{channel="email",provider="smtp",by="report",scope="message",name="5.7.1"} _x5 1x60
NotDelivered | mails that were refused by policy |  | 15
  partial_fault{channel="email",provider="smtp",by="report",scope="message",name="5.7.1"} 3x60
NotDelivered | one report that names the signature | 8 20 | 4 36
  partial_fault{channel="sms",provider="aliyun",by="report",scope="sender",name="X",instance="a"} _x5 1x20 _x10
NotDelivered | a message that one recipient’s network filtered |  | 8 20
  partial_fault{channel="sms",provider="aliyun",by="report",scope="message",name="X",instance="a"} _x5 1x20
NotDelivered | messages that the networks of two recipients filtered, told to two replicas | 8 20 | 4
  partial_fault{channel="sms",provider="aliyun",by="report",scope="message",name="X",instance="a"} 1x20
  partial_fault{channel="sms",provider="aliyun",by="report",scope="message",name="X",instance="b"} _x5 1x20
PartRefused | a template under review | 12 24 | 8 36
  partial_fault{channel="sms",provider="aliyun",by="answer",scope="template",name="X",instance="a"} _x5 1x20 _x10
PartStopped | a template under review whose messages expire | 18 30 | 12
  partial_fault{channel="sms",provider="aliyun",by="answer",scope="template",name="X",instance="a"} _x5 1x60
  messages_total{channel="sms",kind="login-code",state="expired"} 0x15 1x60
PartStopped | a template under review whose messages go by another carrier, and a refused country |  | 12 40
  partial_fault{channel="sms",provider="aliyun",by="answer",scope="template",name="X",instance="a"} 1x60
  partial_fault{channel="sms",provider="aliyun",by="answer",scope="country",name="X",instance="a"} 1x60
  messages_total{channel="sms",kind="login-code",state="expired"} 0x60
Down | a target that does not answer | 12 20 | 5
  up 1x9 0x20
Down | a target that is gone | 12 20 | 5
  up 1x9 stale
Down | no target from the start | 2 |
Down | a restart of a few seconds, between two scrapes |  | 3 9 19
  up 1x20
EventsLate | a receiver that takes nothing, then does | 20 25 | 5 14 30
  events_oldest_seconds 0x5 0+60x20 0x10
EventsLate | the first events ever that are dropped | 9 15 | 5 30
  events_dropped_total 0x5 1x40
BouncesUnread | a mailbox that cannot be read for an hour, by one of two replicas after the other | 18 40 55 70 | 14 44 78
  bounce_mailbox_failing_seconds{instance="a"} 0x10 0+60x30 0x40
  bounce_mailbox_failing_seconds{instance="b"} 0x40 0+60x30 0x10
StoreFails | the first failure ever | 12 | 8 20
  store_failures_total{doing="accept"} 0x9 1x30
StoreFails | a failure and a restart in between | 8 22 | 18
  store_failures_total{doing="accept"} 0x5 3x4 0x9 1x9
StoreFails | a store that does not answer the scrape, then does | 8 | 4 18
  store_up 1x5 0x9 1x9
StoreLoss | a start that finds messages missing | 6 14 | 5 16
  store_lost_messages 0x5 12x9 0x9
Unreadable | the first message ever that was damaged on disk | 10 60 | 8 75
  unreadable_total{channel="email"} 0x9 1x90
ProviderDown | the first attempt ever fails | 9 | 4 6
  provider_up{provider="smtp"} _x5 0x9
ProviderDown | a hiccup of a minute |  | 6 7 9
  provider_up{provider="smtp"} 1x5 0 1x9
ProviderDown | an open breaker that closes | 9 | 5 18
  breaker_open{provider="twilio"} 0x5 1x9 0x5
MessagesWait | a message waits, then is sent | 11 | 6 18
  oldest_seconds{channel="email"} 0x5 60+60x9 0x5
  backlog{channel="email"} 0x5 4x9 0x5
  waiting_recipients{channel="email"} 0x5 4x9 0x5
  messages_total{channel="email",kind="login-code",state="sent"} 0x19
MessagesWait | one full mailbox, and ten alarms for it, in a night without anything else |  | 10 60 120
  oldest_seconds{channel="email"} 0x5 60+60x120
  backlog{channel="email"} 0x5 10x120
  waiting_recipients{channel="email"} 0x5 1x120
  messages_total{channel="email",kind="member-alarm",state="sent"} 0x130
MessagesLost | ten alarms for one full mailbox, an hour later |  | 61 70
  waiting_recipients{channel="email"} 1x60 0x30
  messages_total{channel="email",kind="member-alarm",state="expired"} 0x60 10x30
  messages_total{channel="email",kind="member-alarm",state="sent"} 0x90
MessagesLost | codes of several people that expired, and then nothing more | 16 25 | 13 35
  waiting_recipients{channel="sms"} 0x9 4x6 0x30
  messages_total{channel="sms",kind="login-code",state="expired"} 0x14 4x30
  messages_total{channel="sms",kind="login-code",state="sent"} 0x44
MessagesLost | the first ones ever | 21 30 | 19 40
  messages_total{channel="sms",kind="login-code",state="unknown"} 0x20 3x60
  messages_total{channel="sms",kind="login-code",state="sent"} 0x80
MessagesLost | one message, and a restart without a loss |  | 9 12 30
  messages_total{channel="sms",kind="login-code",state="unknown"} 0x9 1x9 0x30
  messages_total{channel="sms",kind="login-code",state="sent"} 0x48
.* | a quiet night with one greylisted mailbox, and somebody who asks a sixth time |  | 60 125 131 140 300 470
  up 1x480
  messages_total{channel="sms",kind="login-code",state="sent"} 0x60 1x420
  messages_total{channel="sms",kind="login-code",state="refused"} 0x480
  oldest_seconds{channel="sms"} 0x10 0+60x120 0x350
  backlog{channel="sms"} 0x10 1x120 0x350
  waiting_recipients{channel="sms"} 0x10 1x120 0x350
  over_quota_total{channel="sms",quota="recipient-10m"} 0x40 1x440
  provider_up{provider="twilio"} 1x480
  locked_out_callbacks{channel="sms"} 0x480
  messages_total{channel="sms",kind="login-code",state="unknown"} 0x130 1x350
.* | a busy week with one bad mailbox in a hundred |  | 125 500 1440 5000 10000
  up 1x10080
  messages_total{channel="sms",kind="login-code",state="sent"} 0+10x10080
  messages_total{channel="sms",kind="login-code",state="unknown"} 0+0.1x10080
  messages_total{channel="sms",kind="login-code",state="refused"} 0+0.1x10080
  oldest_seconds{channel="sms"} 7200x10080
  backlog{channel="sms"} 12x10080
  waiting_recipients{channel="sms"} 12x10080
  over_quota_total{channel="sms",quota="recipient-day"} 0+0.1x10080
  provider_up{provider="twilio"} 1x10080
  locked_out_callbacks{channel="sms"} 0x10080
  partial_fault{channel="sms",provider="aliyun",by="report",scope="message",name="X",instance="a"} 1x10080
  messages_total{channel="email",kind="activation-code",state="sent"} 0+10x10080
  receipts_total{provider="smtp",class="recipient",status="undelivered",result="recorded"} 0+0.1x10080
LockedOut | three calls an hour, all refused, then one is accepted | 36 60 | 9 28 32 72
  locked_out_callbacks{channel="sms"} 0x9 1x19 2x19 3x19 0x9
  post_signatures_total{channel="sms",signature="right"} 0x69 1x9
LockedOut | another replica accepts |  | 12 20 40
  locked_out_callbacks{channel="sms",instance="a"} 0x9 2x40
  post_signatures_total{channel="sms",instance="b",signature="right"} 0+1x50
ManyRefused | a third is refused, for twenty minutes | 20 | 60
  messages_total{channel="sms",kind="login-code",state="sent"} 0+20x90
  messages_total{channel="sms",kind="login-code",state="refused"} 0+10x20 200x70
ManyRefused | the first one ever, among few |  | 10 20
  messages_total{channel="sms",kind="login-code",state="sent"} 0x40
  messages_total{channel="sms",kind="login-code",state="refused"} 0x9 1x30
ManyRefused | a third of what is sent, among many that a trial holds | 20 | 60
  messages_total{channel="sms",kind="login-code",state="sent"} 0+20x90
  messages_total{channel="sms",kind="login-code",state="refused"} 0+10x20 200x70
  messages_total{channel="sms",kind="login-code",state="held"} 0+500x90
OnlyTo | a trial that is forgotten, over a restart and in another replica | 1440 1500 | 60 1430 1600
  only_to{instance="a"} 2x700 _x20 2x100 _x700
  only_to{instance="b"} _x820 2x700 0x100
DeliveredLate | a carrier that is slow to one country | 12 20 | 8 30
  delivered_late{provider="aliyun",country="",instance="a"} 0x60
  delivered_late{provider="aliyun",country="US",instance="a"} _x5 1x15 _x40
ProbeMissing | a code that did not arrive, until another replica looks and one does | 12 30 | 9 50
  probe_missing{channel="sms",instance="a"} 0x10 1x10 0x40
  probe_missing{channel="sms",instance="b"} 0x20 1x20 0x20
NoneArrives | five in a row, told by two replicas, until one is sent | 18 30 | 8 50
  none_arrives{channel="sms",provider="",instance="a"} _x5 5x10 6x20 _x20
  none_arrives{channel="sms",provider="",instance="b"} _x5 5x10 6x20 _x20
Quota | the first message ever that is held back | 11 | 8 30
  over_quota_total{channel="sms",quota="sms-minute"} 0x9 1x30
Strangers | two a second, for forty minutes | 30 | 5 12 60
  gate_refusals_total{channel="sms",method="POST",reason="key"} 0x5 0+120x40 4800x20
Slow | a twentieth takes five seconds, then none does | 20 | 5 55
  answer_seconds_bucket{channel="sms",method="POST",le="2.5"} 0+95x40 3900+100x20
  answer_seconds_bucket{channel="sms",method="POST",le="5"} 0+100x61
  answer_seconds_bucket{channel="sms",method="POST",le="+Inf"} 0+100x61
Slow | nothing does |  | 20 40
  answer_seconds_bucket{channel="sms",method="POST",le="0.5"} 0+100x40
  answer_seconds_bucket{channel="sms",method="POST",le="+Inf"} 0+100x40
BacklogFull | more wait than is usual, then few | 15 | 4 8 30
  backlog{channel="sms"} 0x5 200000x20 10x9
Certificate | it expires in ten days, then a renewed one is served | 8 | 3 14
  certificate_remaining_seconds 1300000x5 864000x5 7776000x5
CertificateExpired | it expires, then a renewed one is served | 3 8 | 1 13
  certificate_remaining_seconds 120-60x10 7776000x5
RenewalRefused | the files cannot be served, then they can | 20 | 4 10 29
  certificate_renewal_refused 0x5 1x20 0x5
DevicesUnwatched | no replica subscribes, then one does | 12 | 4 30
  ddq_subscribed{instance="a"} 1x5 0x20 1x9
  ddq_subscribed{instance="b"} 0x36
DevicesUnwatched | another replica takes over |  | 4 6 20
  ddq_subscribed{instance="a"} 1x5 0x20
  ddq_subscribed{instance="b"} 0x6 1x20
Fault | the first one ever | 11 | 8 30
  faults_total{where="render"} 0x9 1x30
Undelivered | carriers deliver half of them, then all | 30 | 0 100
  receipts_total{status="failed",result="recorded"} 0+5x60 300x60
  receipts_total{status="delivered",result="recorded"} 0+5x120
Undelivered | the first one ever |  | 11 30
  receipts_total{status="failed",result="recorded"} 0x9 1x50
  receipts_total{status="delivered",result="recorded"} 0+5x60`
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
  const metrics = createMetrics({ deviceAlerts: true, webhooks: true, reporting: ['smtp', 'twilio'] })
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
