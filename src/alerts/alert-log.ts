import type { Logger } from 'pino'
import type { Counter, Gauge, Registry } from 'prom-client'
import type { End, Malformed } from '../ddq/connection.ts'
import type { DdqMessage } from '../ddq/message.ts'
import type { LogThrottle } from '../runtime/log-throttle.ts'
import type { NotifierObserver } from './dispatch.ts'

/** The events of device alerts. */
export interface AlertObserver extends NotifierObserver {
  received(message: DdqMessage): void
  malformed(what: Malformed): void
  subscribed(topics: number): void
  /** A topic is refused, though others are not. */
  topicRefused(topic: string, why: string): void
  ended(end: End, waitMs: number): void
  leaderChanged(leads: boolean): void
}

export interface AlertLogOptions {
  readonly log: Logger
  readonly throttle: LogThrottle
  readonly registry: Registry
  /** prom-client's classes, so that this file loads nothing by itself. */
  readonly Counter: typeof Counter
  readonly Gauge: typeof Gauge
}

/**
 * Logs and counts the events of device alerts. A notification that is sent is a line; one that is suppressed is counted,
 * and logged at debug level.
 * No line holds a recipient in full or a value of a device.
 */
export function createAlertLog(options: AlertLogOptions): AlertObserver {
  const { log, throttle, registry } = options
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new options.Counter({ name: `callback_courier_${name}`, help, labelNames, registers: [registry] })
  const messages = counter('ddq_messages_total', 'Messages of the data subscription, by topic.', ['topic'])
  const malformed = counter(
    'ddq_malformed_total',
    'Received bytes and messages that cannot be used, by topic.',
    ['topic'],
  )
  const ends = counter('ddq_ends_total', 'Connections to the data subscription that ended, by why.', ['why'])
  const alerts = counter('alerts_total', 'Device alerts by what became of them: told, or why not.', [
    'channel',
    'kind',
    'result',
  ])
  const up = new options.Gauge({
    name: 'callback_courier_ddq_subscribed',
    help: 'Whether this process holds the data subscription.',
    registers: [registry],
  })
  const received = new Map<string, { inc(): void }>()

  return {
    received({ kind }) {
      let count = received.get(kind)
      if (count === undefined) {
        count = messages.labels(kind)
        received.set(kind, count)
      }
      count.inc()
    },
    malformed({ topic, fault, shape }) {
      malformed.inc({ topic: topic === '' ? 'none' : topic })
      throttle(`ddq/${topic}/${fault}`, times => {
        log.warn(
          { event: 'ddq-malformed', topic, fault, shape, times },
          'a device message that cannot be used',
        )
      })
    },
    subscribed(topics) {
      up.set(1)
      log.info({ event: 'ddq', topics }, 'subscribed to device messages')
    },
    topicRefused(topic, why) {
      throttle(`ddq/refused/${topic}`, times => {
        log.warn(
          { event: 'ddq', is: 'refused', topic, why, times },
          'the platform refuses this topic: nothing of it comes',
        )
      })
    },
    ended({ is, why }, waitMs) {
      up.set(0)
      ends.inc({ why: is })
      throttle(`ddq/${is}/${why}`, times => {
        log.warn({ event: 'ddq', is, why, wait_ms: waitMs, times }, 'no device messages: trying again')
      })
    },
    leaderChanged(leads) {
      if (!leads) up.set(0)
      log.info(
        { event: 'ddq', leads },
        leads ? 'this process watches the devices' : 'another process watches the devices',
      )
    },
    sent({ id, channel, kind, to, device }) {
      alerts.inc({ channel, kind, result: 'told' })
      log.info({ event: 'alert', id, channel, kind, to, device }, 'an alert is queued')
    },
    suppressed({ why, channel, kind }) {
      alerts.inc({ channel, kind, result: why })
      log.debug({ event: 'alert', channel, kind, why }, 'an alert is suppressed')
    },
    overQuota({ channel, kind, quota }) {
      alerts.inc({ channel, kind, result: 'over-quota' })
      throttle(`alert-quota/${channel}/${quota}`, times => {
        log.warn({ event: 'over-quota', channel, kind, quota, times }, 'a quota holds alerts back')
      })
    },
    unrenderable({ channel, kind, error }) {
      alerts.inc({ channel, kind, result: 'unrenderable' })
      throttle(`unrenderable/${channel}/${kind}`, times => {
        log.error({ event: 'unrenderable', channel, kind, err: error.name, times }, 'look at the templates')
      })
    },
    storeFailed({ doing, error }) {
      throttle(`store/${doing}`, times => {
        log.error(
          { event: 'store', doing, err: error.name, message: error.message, times },
          'the store cannot take alerts now: device messages wait',
        )
      })
    },
  }
}
