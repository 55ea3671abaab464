import { createServiceHealth } from '../../src/admin/service-health.ts'
import { createEmitter, type EventOf, type EventType, type ServiceEvent } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import { idleCarrier, viewOf } from '../rigs/view.ts'

const message = { id: 'a1', channel: 'sms', kind: 'login-code', masked: '+86*******8000' } as const
const error = new Error('disk full')
/** One that is taken. */
export const callback = {
  type: 'callback',
  channel: 'email',
  method: 'POST',
  kind: 'activation-code',
  answer: { err_code: 0, err_msg: '' },
  refusal: null,
  knowsKey: true,
  signature: 'right',
  outdated: false,
  ids: ['a1'],
  tookMs: 20,
} as const
const final = {
  type: 'final',
  id: 'a1',
  channel: 'sms',
  kind: 'login-code',
  state: 'sent',
  answer: null,
} as const
const receipt = {
  type: 'receipt',
  channel: 'sms',
  provider: 'twilio',
  providerId: 'SM1',
  errorCode: null,
} as const
const fact = {
  type: 'fact',
  kind: 'provider-down',
  level: 'fail',
  about: 'twilio',
  scope: { channel: 'sms', provider: 'twilio' },
  whose: 'theirs',
} as const
const attempt = { type: 'attempt', message, attempts: 1, tookMs: 300.4 } as const

/** Each event of the service at least once, and each of its variants that metrics tell apart. */
const EVERY_EVENT: { readonly [T in EventType]: readonly EventOf<T>[] } = {
  callback: [
    callback,
    {
      ...callback,
      channel: 'sms',
      signature: 'absent',
      tookMs: 1500,
      answer: { err_code: 5031002, err_msg: '' },
    },
    {
      ...callback,
      refusal: 'key',
      signature: 'wrong',
      kind: 'none',
      answer: { err_code: 4011001, err_msg: '' },
    },
    { ...callback, method: 'GET', kind: 'none', outdated: true, tookMs: 2 },
    {
      ...callback,
      method: 'GET',
      refusal: 'stale',
      kind: 'none',
      answer: { err_code: 4011001, err_msg: '' },
    },
  ],
  overloaded: [
    { type: 'overloaded', channel: 'sms', answer: { err_code: 5031002, err_msg: 'too many' }, times: 3 },
  ],
  'stray-request': [{ type: 'stray-request', answer: { err_code: 4041000, err_msg: 'no such path' } }],
  unreadable: [{ type: 'unreadable', id: 'a1', channel: 'sms', kind: 'login-code' }],
  unrenderable: [
    { type: 'unrenderable', channel: 'email', kind: 'activation-code', error },
    { type: 'unrenderable', channel: 'email', kind: 'device-offline', error },
  ],
  'over-quota': [
    { type: 'over-quota', channel: 'sms', kind: 'login-code', quota: 'recipient-day', to: '+86*******8000' },
    { type: 'over-quota', channel: 'email', kind: 'device-alert', quota: 'email-minute', to: 'a***' },
  ],
  fact: [
    { ...fact, is: 'begun' },
    { ...fact, is: 'over' },
  ],
  newcomer: [{ type: 'newcomer', callingCode: '86', use: 2.5 }],
  'near-quota': [{ type: 'near-quota', channel: 'sms', quota: 'sms-minute', to: '+86*******8000' }],
  duplicate: [
    { type: 'duplicate', channel: 'email', kind: 'activation-code', is: 'in-progress' },
    { type: 'duplicate', channel: 'sms', kind: 'login-code', is: 'finished' },
  ],
  'receipt-state': [{ type: 'receipt-state', path: '/receipt/g', state: 'HELD' }],
  receipt: [
    { ...receipt, status: 'delivered', result: 'recorded' },
    { ...receipt, status: 'undelivered', result: 'recorded' },
    {
      ...receipt,
      status: 'failed',
      result: 'recorded',
      errorCode: '30034',
      fault: { verdict: 'ours', scope: 'sender', reason: 'the number is not registered' },
      kind: 'login-code',
      masked: '+86*******8000',
    },
    { ...receipt, status: 'sent', result: 'stale' },
    { ...receipt, status: 'sent', result: 'unknown' },
    { ...receipt, status: '', result: 'forged' },
  ],
  attempt: [
    { ...attempt, provider: 'smtp', outcome: { is: 'ambiguous', code: 'reply-limit', reply: '' } },
    { ...attempt, provider: 'smtp', outcome: { is: 'sent', reply: quote('250 ok') } },
    { ...attempt, provider: 'a', outcome: { is: 'rejected', scope: 'recipient', code: '21211', reply: '' } },
    {
      ...attempt,
      provider: 'b',
      outcome: { is: 'retry', whose: 'later', code: '450', reply: '' },
      tookMs: 300.5,
    },
    {
      ...attempt,
      provider: 'c',
      outcome: { is: 'retry', whose: 'ours', scope: 'account', code: '535', reply: '' },
    },
    {
      ...attempt,
      provider: 'd',
      outcome: { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true },
    },
    { ...attempt, provider: 'e', outcome: { is: 'sent', reply: '' } },
    { ...attempt, provider: 'e', outcome: { is: 'ambiguous', code: 'dropped', reply: '' } },
  ],
  final: [
    { ...final, tookMs: 700.4, providerId: 'SM1' },
    { ...final, channel: 'email', kind: 'activation-code' },
    { ...final, state: 'refused', answer: 'recipient', tookMs: 700.6 },
    { ...final, state: 'expired' },
    { ...final, state: 'unknown' },
  ],
  breaker: [
    { type: 'breaker', channel: 'sms', provider: 'twilio', state: 'open', reason: quote('ECONNREFUSED') },
  ],
  'partial-fault': [
    {
      type: 'partial-fault',
      channel: 'sms',
      provider: 'aliyun',
      is: 'begun',
      scope: 'template',
      name: 'SMS_2',
      kind: 'forgotten-password',
      code: 'isv.SMS_TEMPLATE_ILLEGAL',
      reply: quote('under review'),
    },
  ],
  'carrier-order': [
    { type: 'carrier-order', provider: 'twilio', country: 'CN', isSecond: true, share: 0.404 },
    { type: 'carrier-order', provider: 'twilio', country: '', isSecond: false, share: 0.957 },
  ],
  'ddq-message': [
    { type: 'ddq-message', topic: 'alert' },
    { type: 'ddq-message', topic: 'alert' },
  ],
  'ddq-malformed': [
    { type: 'ddq-malformed', topic: '', fault: quote('garbage'), shape: '9 bytes' },
    { type: 'ddq-malformed', topic: 'event', fault: quote('no device'), shape: 'object' },
  ],
  'ddq-ended': [{ type: 'ddq-ended', is: 'silent', why: quote('no heartbeat'), waitMs: 5000 }],
  'ddq-subscribed': [{ type: 'ddq-subscribed', topics: 2 }],
  'ddq-topic-refused': [{ type: 'ddq-topic-refused', topic: '/x', why: quote('HTTP 404') }],
  'ddq-leader': [{ type: 'ddq-leader', leads: true }],
  'webhooks-posted': [
    { type: 'webhooks-posted', result: 'delivered', events: 3, reason: null },
    { type: 'webhooks-posted', result: 'failed', events: 2, reason: 'http-500' },
    { type: 'webhooks-posted', result: 'gone', events: 2, reason: 'http-410' },
  ],
  delivered: [{ type: 'delivered', provider: 'twilio', country: 'US', tookMs: 6400 }],
  'robot-posted': [
    {
      type: 'robot-posted',
      robot: 'dingtalk',
      alarms: 2,
      outcome: { is: 'sent', reply: quote('accepted, 0') },
      isDropped: false,
    },
    {
      type: 'robot-posted',
      robot: 'dingtalk',
      alarms: 2,
      outcome: { is: 'retry', whose: 'ours', code: '310000', reply: quote('sign not match') },
      isDropped: true,
    },
  ],
  'webhooks-dropped': [{ type: 'webhooks-dropped', count: 500 }],
  'bounce-mailbox': [
    { type: 'bounce-mailbox', is: 'open' },
    { type: 'bounce-mailbox', is: 'failed', reason: 'the login is refused' },
  ],
  'alert-sent': [
    { type: 'alert-sent', id: 'a1', channel: 'email', kind: 'device-alert', to: 'a***', device: 'd1' },
  ],
  'alert-suppressed': [
    { type: 'alert-suppressed', why: 'quiet', channel: 'sms', kind: 'device-alert' },
    { type: 'alert-suppressed', why: 'repeated', channel: 'sms', kind: 'device-alert' },
  ],
  'store-failed': [
    { type: 'store-failed', doing: 'settle', error },
    { type: 'store-failed', doing: 'alerts', error },
  ],
  'store-loss': [{ type: 'store-loss', messages: 12, from: 0, until: 1000, noticedAt: 61_000 }],
  'store-commit': [{ type: 'store-commit', ms: 4, calls: 3 }],
  fault: [{ type: 'fault', error }],
  'admin-refused': [{ type: 'admin-refused', reason: 'wrong-token' }],
  operator: [
    { type: 'operator', operator: 'ann', did: 'backup' },
    { type: 'operator', operator: 'ann', did: 'forget', messages: 3 },
    { type: 'operator', operator: 'ann', did: 'retry', channel: 'sms', kind: 'login-code', ids: ['a1'] },
  ],
}

export const everyEvent: readonly ServiceEvent[] = Object.values(EVERY_EVENT).flat()

const WALL = Date.parse('2026-11-21T02:04:00Z')
const health = createServiceHealth(() => 61_000)
everyEvent.forEach(createEmitter([health.handlers]))
/** What a scrape reads beside the events. */
export const view = viewOf({
  health,
  deviceAlerts: () => ({
    leads: true,
    subscribed: true,
    forMs: 0,
    lastEnd: null,
    refused: [],
    received: 0,
    malformed: 0,
  }),
  queries: {
    ...viewOf().queries,
    readSummary: async () => ({
      counts: [],
      ended: [],
      backlog: { email: 1, sms: 0 },
      oldest: { email: 1000, sms: null },
      bounced: 0,
      leftOut: 0,
      waitingRecipients: { email: 1, sms: 0 },
      bytes: 4096,
    }),
  },
  channelStatus: () => [
    {
      ...idleCarrier,
      channel: 'email',
      provider: 'smtp',
      inFlight: 1,
      waiting: 2,
      awaitingReply: 1,
      limit: 5,
      limitReason: 'refused',
      limitWhy: quote('not measured yet'),
      breaker: 'open',
      breakerUntil: 5000,
      fault: {
        scope: 'carrier',
        name: '',
        kind: 'activation-code',
        since: 1000,
        until: 5000,
        code: '421',
        reply: quote('not now'),
      },
      partialFaults: [
        {
          scope: 'message',
          name: '5.7.1',
          kind: 'activation-code',
          since: 1000,
          until: null,
          code: '5.7.1',
          reply: quote('refused by policy'),
          recipients: 1,
        },
      ],
    },
    {
      ...idleCarrier,
      inFlight: 3,
      limit: 10,
      limitWhy: quote('not measured yet'),
      secondIn: [''],
      partialFaults: [
        {
          scope: 'template',
          name: 'SMS_2',
          kind: 'forgotten-password',
          since: 1000,
          until: 5000,
          code: 'isv.SMS_TEMPLATE_ILLEGAL',
          reply: quote('under review'),
        },
        ...(['account', 'carrier'] as const).map(scope => ({
          scope,
          name: '63038',
          kind: 'login-code',
          since: 1000,
          until: null,
          code: '63038',
          reply: quote('the daily limit'),
          recipients: 3,
        })),
        {
          scope: 'sender',
          name: '30034',
          kind: 'login-code',
          since: 1000,
          until: null,
          code: '30034',
          reply: quote('the number is not registered'),
          recipients: 2,
        },
      ],
    },
  ],
  wall: () => WALL,
  certificate: () => ({ expiresAt: WALL + 12.5 * 86_400_000, flaws: [], chain: 'complete', names: [] }),
  renewalRefused: () => ({ since: WALL, reason: quote('a reason') }),
  storeLoss: () => ({ messages: 12, from: 0, until: 1000, noticedAt: 61_000 }),
  webhooks: () => ({ leads: true, isGone: false, failing: null, waiting: 7, oldestAt: 1000 }),
  now: () => 61_000,
})
