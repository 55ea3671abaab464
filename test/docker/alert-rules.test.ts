import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

/** Plays time series to the alert rules, as promtool's unit tests do: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */

const RULES = join(import.meta.dirname, '../../docker/prometheus-rules.yaml')

/** Series of `callback_courier_`, each with a sample a minute in promtool's notation; minutes at which it fires and not. */
interface Play {
  readonly alert: string
  readonly is: string
  readonly series: Readonly<Record<string, string>>
  readonly fires: readonly number[]
  readonly silent: readonly number[]
}

const LOST = 'messages_total{channel="sms",kind="login-code",state="unknown"}'
const SENT = 'messages_total{channel="sms",kind="login-code",state="sent"}'
const REFUSED = 'messages_total{channel="sms",kind="login-code",state="refused"}'
const bucket = (le: string) => `answer_seconds_bucket{channel="sms",method="POST",le="${le}"}`
const receipts = (status: string) => `receipts_total{status="${status}",result="recorded"}`
const part = (by: string, scope: string, instance = 'a') =>
  `partial_fault{channel="sms",provider="aliyun",by="${by}",scope="${scope}",name="X",instance="${instance}"}`
const EXPIRED = 'messages_total{channel="sms",kind="login-code",state="expired"}'

/** Hardly anybody signs up; one mailbox is greylisted for two hours, and its message expires. */
const QUIET_NIGHT: Play['series'] = {
  up: '1x480',
  [SENT]: '0x60 1x420',
  'messages_total{channel="sms",kind="login-code",state="refused"}': '0x480',
  'oldest_seconds{channel="sms"}': '0x10 0+60x120 0x350',
  'backlog{channel="sms"}': '0x10 1x120 0x350',
  'waiting_recipients{channel="sms"}': '0x10 1x120 0x350',
  'over_quota_total{channel="sms",quota="recipient-10m"}': '0x40 1x440',
  'provider_up{provider="twilio"}': '1x480',
  'locked_out_callbacks{channel="sms"}': '0x480',
}
/** Ten messages a minute; of each hundred one waits for two hours and expires. */
const BUSY_WEEK: Play['series'] = {
  up: '1x10080',
  [SENT]: '0+10x10080',
  [LOST]: '0+0.1x10080',
  'messages_total{channel="sms",kind="login-code",state="refused"}': '0+0.1x10080',
  'oldest_seconds{channel="sms"}': '7200x10080',
  'backlog{channel="sms"}': '12x10080',
  'waiting_recipients{channel="sms"}': '12x10080',
  'over_quota_total{channel="sms",quota="recipient-day"}': '0+0.1x10080',
  'provider_up{provider="twilio"}': '1x10080',
  'locked_out_callbacks{channel="sms"}': '0x10080',
  [part('report', 'message')]: '1x10080',
  'messages_total{channel="email",kind="activation-code",state="sent"}': '0+10x10080',
  'receipts_total{provider="smtp",class="recipient",status="undelivered",result="recorded"}': '0+0.1x10080',
}

const MAIL_SENT = 'messages_total{channel="email",kind="activation-code",state="sent"}'
const mailCameBack = (verdict: string) =>
  `receipts_total{provider="smtp",class="${verdict}",status="undelivered",result="recorded"}`
const policy = 'partial_fault{channel="email",provider="smtp",by="report",scope="message",name="5.7.1"}'

const PLAYS: readonly Play[] = [
  {
    alert: 'MailRefused',
    is: 'a third of thirty mails an hour that come back',
    series: { [MAIL_SENT]: '0+0.5x240', [mailCameBack('ours')]: '0x60 0+0.17x180' },
    fires: [130, 200],
    silent: [50],
  },
  {
    alert: 'MailRefused',
    is: 'three of five mails that come back, and one of ten',
    series: { [MAIL_SENT]: '0+0.08x240', [mailCameBack('recipient')]: '0+0.05x240' },
    fires: [],
    silent: [100, 200],
  },
  {
    alert: 'MailComesBack',
    is: 'one of ten mails of a day',
    series: { [MAIL_SENT]: '0+0.1x1440', [mailCameBack('recipient')]: '0+0.01x1440' },
    fires: [1300],
    silent: [60],
  },
  {
    alert: 'MailComesBack',
    is: 'one of fifty mails',
    series: { [MAIL_SENT]: '0+0.1x1440', [mailCameBack('recipient')]: '0+0.002x1440' },
    fires: [],
    silent: [600, 1300],
  },
  {
    alert: 'MailComesBack',
    is: 'one that was refused by policy, which pages nobody',
    series: { [policy]: '_x5 1x60' },
    fires: [15],
    silent: [4],
  },
  {
    alert: 'NotDelivered',
    is: 'mails that were refused by policy',
    series: { [policy]: '3x60' },
    fires: [],
    silent: [15],
  },
  {
    alert: 'NotDelivered',
    is: 'one report that names the signature',
    series: { [part('report', 'sender')]: '_x5 1x20 _x10' },
    fires: [8, 20],
    silent: [4, 36],
  },
  {
    alert: 'NotDelivered',
    is: 'a message that one recipient’s network filtered',
    series: { [part('report', 'message')]: '_x5 1x20' },
    fires: [],
    silent: [8, 20],
  },
  {
    alert: 'NotDelivered',
    is: 'messages that the networks of two recipients filtered, told to two replicas',
    series: { [part('report', 'message')]: '1x20', [part('report', 'message', 'b')]: '_x5 1x20' },
    fires: [8, 20],
    silent: [4],
  },
  {
    alert: 'PartRefused',
    is: 'a template under review',
    series: { [part('answer', 'template')]: '_x5 1x20 _x10' },
    fires: [12, 24],
    silent: [8, 36],
  },
  {
    alert: 'PartStopped',
    is: 'a template under review whose messages expire',
    series: { [part('answer', 'template')]: '_x5 1x60', [EXPIRED]: '0x15 1x60' },
    fires: [18, 30],
    silent: [12],
  },
  {
    alert: 'PartStopped',
    is: 'a template under review whose messages go by another carrier, and a refused country',
    series: {
      [part('answer', 'template')]: '1x60',
      [part('answer', 'country')]: '1x60',
      [EXPIRED]: '0x60',
    },
    fires: [],
    silent: [12, 40],
  },
  {
    alert: 'Down',
    is: 'a target that does not answer',
    series: { up: '1x9 0x20' },
    fires: [12, 20],
    silent: [5],
  },
  { alert: 'Down', is: 'a target that is gone', series: { up: '1x9 stale' }, fires: [12, 20], silent: [5] },
  { alert: 'Down', is: 'no target from the start', series: {}, fires: [2], silent: [] },
  {
    alert: 'Down',
    is: 'a restart of a few seconds, between two scrapes',
    series: { up: '1x20' },
    fires: [],
    silent: [3, 9, 19],
  },
  {
    alert: 'EventsLate',
    is: 'a receiver that takes nothing, then does',
    series: { events_oldest_seconds: '0x5 0+60x20 0x10' },
    fires: [20, 25],
    silent: [5, 14, 30],
  },
  {
    alert: 'EventsLate',
    is: 'the first events ever that are dropped',
    series: { events_dropped_total: '0x5 1x40' },
    fires: [9, 15],
    silent: [5, 30],
  },
  {
    alert: 'StoreFails',
    is: 'the first failure ever',
    series: { 'store_failures_total{doing="accept"}': '0x9 1x30' },
    fires: [12],
    silent: [8, 20],
  },
  {
    alert: 'StoreFails',
    is: 'a failure and a restart in between',
    series: { 'store_failures_total{doing="accept"}': '0x5 3x4 0x9 1x9' },
    fires: [8, 22],
    silent: [18],
  },
  {
    alert: 'StoreFails',
    is: 'a store that does not answer the scrape, then does',
    series: { store_up: '1x5 0x9 1x9' },
    fires: [8],
    silent: [4, 18],
  },
  {
    alert: 'StoreLoss',
    is: 'a start that finds messages missing',
    series: { store_lost_messages: '0x5 12x9 0x9' },
    fires: [6, 14],
    silent: [5, 16],
  },
  {
    alert: 'Unreadable',
    is: 'the first message ever that was damaged on disk',
    series: { 'unreadable_total{channel="email"}': '0x9 1x90' },
    fires: [10, 60],
    silent: [8, 75],
  },
  {
    alert: 'ProviderDown',
    is: 'the first attempt ever fails',
    series: { 'provider_up{provider="smtp"}': '_x5 0x9' },
    fires: [9],
    silent: [4, 6],
  },
  {
    alert: 'ProviderDown',
    is: 'a hiccup of a minute',
    series: { 'provider_up{provider="smtp"}': '1x5 0 1x9' },
    fires: [],
    silent: [6, 7, 9],
  },
  {
    alert: 'ProviderDown',
    is: 'an open breaker that closes',
    series: { 'breaker_open{provider="twilio"}': '0x5 1x9 0x5' },
    fires: [9],
    silent: [5, 18],
  },
  {
    alert: 'MessagesWait',
    is: 'a message waits, then is sent',
    series: {
      'oldest_seconds{channel="email"}': '0x5 60+60x9 0x5',
      'backlog{channel="email"}': '0x5 4x9 0x5',
      'waiting_recipients{channel="email"}': '0x5 4x9 0x5',
      'messages_total{channel="email",kind="login-code",state="sent"}': '0x19',
    },
    fires: [11],
    silent: [6, 18],
  },
  {
    alert: 'MessagesWait',
    is: 'one full mailbox, and ten alarms for it, in a night without anything else',
    series: {
      'oldest_seconds{channel="email"}': '0x5 60+60x120',
      'backlog{channel="email"}': '0x5 10x120',
      'waiting_recipients{channel="email"}': '0x5 1x120',
      'messages_total{channel="email",kind="member-alarm",state="sent"}': '0x130',
    },
    fires: [],
    silent: [10, 60, 120],
  },
  {
    alert: 'MessagesLost',
    is: 'ten alarms for one full mailbox, an hour later',
    series: {
      'waiting_recipients{channel="email"}': '1x60 0x30',
      'messages_total{channel="email",kind="member-alarm",state="expired"}': '0x60 10x30',
      'messages_total{channel="email",kind="member-alarm",state="sent"}': '0x90',
    },
    fires: [],
    silent: [61, 70],
  },
  {
    alert: 'MessagesLost',
    is: 'codes of several people that expired, and then nothing more',
    series: {
      'waiting_recipients{channel="sms"}': '0x9 4x6 0x30',
      'messages_total{channel="sms",kind="login-code",state="expired"}': '0x14 4x30',
      [SENT]: '0x44',
    },
    fires: [16, 25],
    silent: [13, 35],
  },
  {
    alert: 'MessagesLost',
    is: 'the first ones ever',
    series: { [LOST]: '0x20 3x60', [SENT]: '0x80' },
    fires: [21, 30],
    silent: [19, 40],
  },
  {
    alert: 'MessagesLost',
    is: 'one message, and a restart without a loss',
    series: { [LOST]: '0x9 1x9 0x30', [SENT]: '0x48' },
    fires: [],
    silent: [9, 12, 30],
  },
  {
    alert: '.*',
    is: 'a quiet night with one greylisted mailbox, and somebody who asks a sixth time',
    series: { ...QUIET_NIGHT, [LOST]: '0x130 1x350' },
    fires: [],
    silent: [60, 125, 131, 140, 300, 470],
  },
  {
    alert: '.*',
    is: 'a busy week with one bad mailbox in a hundred',
    series: BUSY_WEEK,
    fires: [],
    silent: [125, 500, 1440, 5000, 10_000],
  },
  {
    alert: 'LockedOut',
    is: 'three calls an hour, all refused, then one is accepted',
    series: {
      'locked_out_callbacks{channel="sms"}': '0x9 1x19 2x19 3x19 0x9',
      'post_signatures_total{channel="sms",signature="right"}': '0x69 1x9',
    },
    fires: [36, 60],
    silent: [9, 28, 32, 72],
  },
  {
    alert: 'LockedOut',
    is: 'another replica accepts',
    series: {
      'locked_out_callbacks{channel="sms",instance="a"}': '0x9 2x40',
      'post_signatures_total{channel="sms",instance="b",signature="right"}': '0+1x50',
    },
    fires: [],
    silent: [12, 20, 40],
  },
  {
    alert: 'ManyRefused',
    is: 'a third is refused, for twenty minutes',
    series: { [SENT]: '0+20x90', [REFUSED]: '0+10x20 200x70' },
    fires: [20],
    silent: [60],
  },
  {
    alert: 'ManyRefused',
    is: 'the first one ever, among few',
    series: { [SENT]: '0x40', [REFUSED]: '0x9 1x30' },
    fires: [],
    silent: [10, 20],
  },
  {
    alert: 'Quota',
    is: 'the first message ever that is held back',
    series: { 'over_quota_total{channel="sms",quota="sms-minute"}': '0x9 1x30' },
    fires: [11],
    silent: [8, 30],
  },
  {
    alert: 'Strangers',
    is: 'two a second, for forty minutes',
    series: { 'gate_refusals_total{channel="sms",method="POST",reason="key"}': '0x5 0+120x40 4800x20' },
    fires: [30],
    silent: [5, 12, 60],
  },
  {
    alert: 'Slow',
    is: 'a twentieth takes five seconds, then none does',
    series: {
      [bucket('2.5')]: '0+95x40 3900+100x20',
      [bucket('5')]: '0+100x61',
      [bucket('+Inf')]: '0+100x61',
    },
    fires: [20],
    silent: [5, 55],
  },
  {
    alert: 'Slow',
    is: 'nothing does',
    series: { [bucket('0.5')]: '0+100x40', [bucket('+Inf')]: '0+100x40' },
    fires: [],
    silent: [20, 40],
  },
  {
    alert: 'BacklogFull',
    is: 'more wait than is usual, then few',
    series: { 'backlog{channel="sms"}': '0x5 200000x20 10x9' },
    fires: [15],
    silent: [4, 8, 30],
  },
  {
    alert: 'Certificate',
    is: 'it expires in ten days, then a renewed one is served',
    series: { certificate_remaining_seconds: '1300000x5 864000x5 7776000x5' },
    fires: [8],
    silent: [3, 14],
  },
  {
    alert: 'CertificateExpired',
    is: 'it expires, then a renewed one is served',
    series: { certificate_remaining_seconds: '120-60x10 7776000x5' },
    fires: [3, 8],
    silent: [1, 13],
  },
  {
    alert: 'RenewalRefused',
    is: 'the files cannot be served, then they can',
    series: { certificate_renewal_refused: '0x5 1x20 0x5' },
    fires: [20],
    silent: [4, 10, 29],
  },
  {
    alert: 'DevicesUnwatched',
    is: 'no replica subscribes, then one does',
    series: { 'ddq_subscribed{instance="a"}': '1x5 0x20 1x9', 'ddq_subscribed{instance="b"}': '0x36' },
    fires: [12],
    silent: [4, 30],
  },
  {
    alert: 'DevicesUnwatched',
    is: 'another replica takes over',
    series: { 'ddq_subscribed{instance="a"}': '1x5 0x20', 'ddq_subscribed{instance="b"}': '0x6 1x20' },
    fires: [],
    silent: [4, 6, 20],
  },
  {
    alert: 'Fault',
    is: 'the first one ever',
    series: { 'faults_total{where="render"}': '0x9 1x30' },
    fires: [11],
    silent: [8, 30],
  },
  {
    alert: 'Undelivered',
    is: 'carriers deliver half of them, then all',
    series: { [receipts('failed')]: '0+5x60 300x60', [receipts('delivered')]: '0+5x120' },
    fires: [30],
    silent: [0, 100],
  },
  {
    alert: 'Undelivered',
    is: 'the first one ever',
    series: { [receipts('failed')]: '0x9 1x50', [receipts('delivered')]: '0+5x60' },
    fires: [],
    silent: [11, 30],
  },
]

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
    input_series: Object.entries(series).map(([name, values]) => ({ series: fullName(name), values })),
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

const promtool = spawnSync('promtool', ['--version']).error === undefined
t.test(
  'rules fire for the first event ever, across a restart and for a target that is gone',
  { skip: promtool ? false : 'promtool is not installed' },
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
