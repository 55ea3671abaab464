import type { Logger } from 'pino'
import { ERR_CODES } from '../callback/answers.ts'
import type { EventHandlers } from '../events/events.ts'
import { isCalledOurs, isOperatorFault } from '../providers/provider.ts'
import { type PresentableFault, presentableFault } from '../runtime/fault.ts'
import { createLogThrottle } from '../runtime/log-throttle.ts'
import { DUPLICATE_LABELS } from './metrics/table.ts'

/**
 * Writes the log: one line for every callback that was authenticated and one for every final state, tied by the
 * message's id. Refused strangers, quotas and a store that fails are counted and logged once a minute; authenticated
 * callbacks that were refused at most sixty times a minute. No line holds a recipient in full, a code, a link, a key
 * or a URL.
 * @param now ms; only differences count.
 */
export function createEventLog(log: Logger, now: () => number): EventHandlers {
  // A condition is logged once a minute, or sixty times a minute.
  const rarely = createThrottledLog(log, now)
  const often = createThrottledLog(log, now, OFTEN_A_MINUTE)
  return {
    // The public listener: callbacks, what they bring, and delivery reports.
    callback({ channel, method, kind, answer, refusal, isCheck, signature, outdated, ids, tookMs }) {
      const line = {
        event: 'callback',
        channel,
        method,
        kind,
        err_code: answer.err_code,
        ms: Math.round(tookMs * 10) / 10,
        ids,
        signature,
        ...(outdated ? { outdated: true } : {}),
        ...(isCheck === true ? { check: true } : {}),
      }
      if (refusal !== null) {
        const text = `${method} refused: ${answer.err_msg}`
        rarely.warn(`refused/${channel}/${method}/${refusal}`, { ...line, reason: refusal }, text)
      } else if (answer.err_code === 0) log.info(line, answer.err_msg === '' ? 'accepted' : answer.err_msg)
      else if (answer.err_code === ERR_CODES.unavailable) {
        rarely.warn(`unavailable/${channel}`, line, answer.err_msg)
      } else if (answer.err_code !== ERR_CODES.quota) {
        // A refusal by a quota has a line of its own.
        often.warn(`${channel}/${answer.err_code}`, line, answer.err_msg)
      }
    },
    overloaded({ channel, answer: { err_code, err_msg }, times: more }) {
      const line = { event: 'callback', channel, method: 'POST', kind: 'none', err_code }
      rarely.warn(`overloaded/${channel}`, line, err_msg, more)
    },
    'stray-request'({ answer }) {
      const { err_code } = answer
      rarely.info(`stray/${err_code}`, { event: 'stray', err_code }, 'asked for something that is not here')
    },
    'over-quota'({ channel, kind, quota, to }) {
      const line = { event: 'over-quota', channel, kind, quota, to }
      rarely.warn(`quota/${channel}/${quota}`, line, 'a quota holds messages back')
    },
    'near-quota': ({ channel, quota, to }) =>
      rarely.warn(
        `near/${quota}`,
        { event: 'near-quota', channel, quota, to },
        'more than half of a brake is used up: look whether these messages are wanted, or raise it',
      ),
    fact({ is, kind, level, about, scope, whose }) {
      const line = { event: 'fact', is, kind, about, ...scope, whose }
      if (is === 'over') log.info(line, 'this is over')
      else
        log[level === 'fail' ? 'error' : 'warn'](
          line,
          'this is so now: the console and `callback-courier check` say what to do',
        )
    },
    duplicate: ({ channel, kind, is }) =>
      log.debug(
        { event: 'twin', channel, kind, is: DUPLICATE_LABELS[is] },
        'the same message again: nothing new is sent',
      ),
    unrenderable({ channel, kind, error }) {
      const line = () => ({ event: 'unrenderable', channel, kind, err: describeFault(error) })
      rarely.error(`unrenderable/${channel}/${kind}`, line, 'look at the templates')
    },
    receipt({ channel, provider, id, providerId, status, errorCode, fault, reply, result }) {
      if (result === 'forged') {
        rarely.warn(
          `receipt/forged/${provider}`,
          { event: 'receipt', provider, result },
          'a delivery report with a wrong signature or key: forged, or PUBLIC_URL, TWILIO_AUTH_TOKEN, SMS_TOKEN or EMAIL_TOKEN is not what the provider has',
        )
        return
      }
      const whose = fault !== undefined && { whose: fault.verdict }
      const said = { status, code: errorCode, ...whose, ...(reply !== undefined && { reply }) }
      // A report on a mail names it by our id alone.
      const named = channel === 'email' ? { id } : { provider_id: providerId }
      const line = { event: 'receipt', provider, ...named, ...said, result }
      if (result === 'recorded') log.info(line, fault?.reason ?? status)
      else log.debug(line, result === 'stale' ? 'later than a newer one' : 'of a message that is not ours')
    },
    'bounce-mailbox'(event) {
      if (event.is === 'open') log.info({ event: 'bounce-mailbox' }, 'the mailbox of BOUNCE_IMAP_URL is read')
      else
        rarely.warn(
          `bounce-mailbox/${String(event.reason)}`,
          { event: 'bounce-mailbox', reason: event.reason },
          'the mailbox of BOUNCE_IMAP_URL cannot be read: trying again',
        )
    },
    'receipt-state': ({ path, state }) =>
      log.warn(
        { event: 'receipt-state', path, state },
        `a delivery report has the state ${state}, which means nothing here: name it under states in SMS_GATEWAYS_FILE`,
      ),

    // What becomes of messages, the store's failures, and bugs.
    attempt({ message, provider, outcome, attempts, tookMs }) {
      const line = {
        event: 'attempt',
        id: message.id,
        channel: message.channel,
        kind: message.kind,
        to: message.masked,
        provider,
        outcome: outcome.is,
        attempts,
        ms: Math.round(tookMs),
        reply: outcome.reply,
        ...(outcome.is === 'sent' ? {} : { code: outcome.code }),
      }
      if (outcome.is === 'sent') log.debug(line, 'sent')
      else if (isOperatorFault(outcome)) {
        // Loud, and once: what has to be mended is the same for every message.
        rarely.error(`mend/${provider}/${outcome.code}`, line, 'the provider refuses us: mend this')
      } else if (outcome.is === 'rejected') log.info(line, 'refused by the provider')
      else if (isCalledOurs(outcome))
        // Strangers choose recipients: what one of them meets is no error of ours yet.
        rarely.warn(`perhaps/${provider}/${outcome.code}`, line, 'not sent yet: this may be ours to mend')
      else rarely.warn(`later/${provider}/${outcome.is}/${outcome.code}`, line, 'not sent yet')
    },
    final({ id, channel, kind, state, answer, tookMs, providerId }) {
      const line = {
        event: 'final',
        id,
        channel,
        kind,
        state,
        ...(answer === null ? {} : { why: answer }),
        ...(tookMs === undefined ? {} : { ms: Math.round(tookMs) }),
        ...(providerId === undefined ? {} : { provider_id: providerId }),
      }
      if (state === 'expired' || state === 'unknown') log.warn(line, state)
      else log.info(line, state)
    },
    unreadable({ id, channel, kind }) {
      const line = { event: 'unreadable', id, channel, kind }
      often.error(
        `unreadable/${channel}`,
        line,
        'what is stored of a message was damaged or exchanged: it is not sent',
      )
    },
    breaker({ channel, provider, state, reason }) {
      if (state === 'open')
        log.error(
          { event: 'breaker', channel, provider, state, reason },
          'left alone for a while: it keeps failing',
        )
      else log.info({ event: 'breaker', channel, provider, state }, 'works again')
    },
    'partial-fault'({ channel, provider, is, scope, name, kind, code, reply, recipients }) {
      const line = { event: 'partial-fault', channel, provider, scope, name, kind }
      if (is === 'over') log.info(line, 'takes it again')
      else if (recipients !== undefined)
        rarely.error(
          `undelivered/${provider}/${code}/${kind}`,
          { ...line, code, reply },
          'takes messages, and reports that they did not arrive: mend this',
        )
      else log.error({ ...line, code, reply }, 'refuses this, and takes the rest')
    },
    'carrier-order'({ provider, country, isSecond, share }) {
      const line = {
        event: 'carrier-order',
        provider,
        ...(country !== '' && { country }),
        second: isSecond,
        share: Math.round(share * 100) / 100,
      }
      if (isSecond) log.warn(line, 'asked second: its delivery reports are late or bad, or have stopped')
      else log.info(line, 'asked in its order again')
    },
    'store-failed'({ doing, error }) {
      const line = () => ({ event: 'store', doing, err: describeFault(error) })
      rarely.error(`store/${doing}`, line, 'the store cannot take it now')
    },
    'store-loss'({ messages, from, until }) {
      const [after, last] = [from, until].map(at => (at === null ? null : new Date(at).toISOString()))
      log.error(
        { event: 'store-loss', messages, after, until: last },
        'the store lacks messages, or ends of messages, that it had stored: its WAL was damaged or deleted, or an older file was put in its place',
      )
    },
    fault({ error }) {
      const err = describeFault(error)
      often.error(`fault/${err.type}`, { event: 'fault', err }, 'an unexpected fault')
    },

    // The data subscription, and the alerts that it brings; never a value of a device.
    'ddq-malformed'({ topic, fault, shape }) {
      const line = { event: 'ddq-malformed', topic, fault, shape }
      rarely.warn(`ddq/${topic}/${String(fault)}`, line, 'a device message that cannot be used')
    },
    'ddq-subscribed': ({ topics }) => log.info({ event: 'ddq', topics }, 'subscribed to device messages'),
    'ddq-topic-refused'({ topic, why }) {
      const line = { event: 'ddq', is: 'refused', topic, why }
      rarely.warn(`ddq/refused/${topic}`, line, 'the platform refuses this topic: nothing of it comes')
    },
    'ddq-ended'({ is, why, waitMs }) {
      const line = { event: 'ddq', is, why, wait_ms: waitMs }
      rarely.warn(`ddq/${is}/${String(why)}`, line, 'no device messages: trying again')
    },
    'ddq-leader': ({ leads }) =>
      log.info(
        { event: 'ddq', leads },
        leads ? 'this process watches the devices' : 'another process watches the devices',
      ),
    'alert-sent': ({ id, channel, kind, to, device }) =>
      log.info({ event: 'alert', id, channel, kind, to, device }, 'an alert is queued'),
    'alert-suppressed': ({ why, channel, kind }) =>
      log.debug({ event: 'alert', channel, kind, why }, 'an alert is suppressed'),

    // How other machines are told; never the URL, which may hold a key.
    'webhooks-posted'({ result, events, reason }) {
      const line = { event: 'webhooks', result, events, reason }
      if (result === 'delivered') log.debug(line, 'told')
      else if (result === 'gone')
        log.error(line, 'EVENTS_URL answers 410: it is told nothing more before the next start')
      else rarely.warn(`webhooks/${reason}`, line, 'EVENTS_URL took nothing: told again later')
    },
    'webhooks-dropped': ({ count }) =>
      rarely.error(
        'webhooks/dropped',
        { event: 'webhooks', result: 'dropped', events: count },
        'events were dropped untold: the oldest of too many, or too old',
      ),

    'robot-posted'({ robot, alarms, outcome, isDropped }) {
      const line = { event: 'robot', robot, alarms, outcome: outcome.is }
      if (outcome.is === 'sent') return log.info(line, 'a group was told of alarms')
      const why = { ...line, code: outcome.code, reply: outcome.reply }
      if (isDropped)
        log.error(why, 'a group is not told of these alarms: look at the robot in SMS_GATEWAYS_FILE')
      else rarely.warn(`robot/${robot}`, why, 'a group could not be told of alarms: it is tried again')
    },

    // Who was refused at the private listener, and what operators do in the console.
    'admin-refused'({ reason }) {
      // Every browser comes without a password first.
      if (reason === 'no-token') return
      rarely.warn(
        `admin-refused/${reason}`,
        { event: 'console-refused', reason },
        'somebody was not let in to the private listener',
      )
    },
    operator: ({ type: _type, ...line }) =>
      log.info({ event: 'operator', ...line }, `${line.did} by an operator`),
  }
}

const OFTEN_A_MINUTE = 60

/** Logs lines with how many times their condition happened since it was last logged. */
function createThrottledLog(log: Logger, now: () => number, burst?: number) {
  const throttle = createLogThrottle(now, burst)
  const at =
    (level: 'info' | 'warn' | 'error') =>
    /** @param line a function where it takes long to make. @param more how many times it happened, once unless given. */
    (condition: string, line: object | (() => object), text: string, more?: number): void =>
      throttle(
        condition,
        times => log[level]({ ...(typeof line === 'function' ? line() : line), times }, text),
        more,
      )
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

/** A fault as the log may have it; the two that are expected of a store explain themselves in words of ours. */
function describeFault(error: Error): PresentableFault & { readonly message?: string } {
  const ours = error.name === 'StoreUnavailable' || error.name === 'BacklogFull'
  return { ...presentableFault(error), ...(ours ? { message: error.message } : {}) }
}
