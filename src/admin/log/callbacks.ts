import type { Logger } from 'pino'
import { ERR_CODES } from '../../callback/answers.ts'
import type { EventHandlers, EventOf } from '../../events/events.ts'
import { DUPLICATE_LABELS } from '../metrics/table.ts'
import { describeFault } from './fault.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs the public listener: callbacks, what they bring, and delivery reports. */
export function logCallbacks(log: Logger, throttles: LogThrottles): EventHandlers {
  const { rarely } = throttles
  return {
    callback: event => logCallback(log, throttles, event),
    overloaded({ channel, answer: { err_code, err_msg }, times: more }) {
      const line = { event: 'callback', channel, method: 'POST', kind: 'none', err_code }
      rarely.warn(`overloaded/${channel}`, line, err_msg, more)
    },
    'stray-request'({ answer }) {
      const { err_code } = answer
      rarely.info(`stray/${err_code}`, { event: 'stray', err_code }, 'asked for something that is not here')
    },
    'signature-news': event => logSignatureNews(log, event),
    'over-quota'({ channel, kind, quota }) {
      const line = { event: 'over-quota', channel, kind, quota }
      rarely.warn(`quota/${channel}/${quota}`, line, 'a quota holds messages back')
    },
    'near-quota'({ channel, quota }) {
      rarely.warn(
        `near/${quota}`,
        { event: 'near-quota', channel, quota },
        'more than half of a brake is used up: look whether these messages are wanted, or raise it',
      )
    },
    duplicate({ channel, kind, is }) {
      log.debug(
        { event: 'twin', channel, kind, is: DUPLICATE_LABELS[is] },
        'the same message again: nothing new is sent',
      )
    },
    superseded({ id, channel, kind }) {
      log.info({ event: 'final', id, channel, kind, state: 'superseded' }, 'superseded by a newer code')
    },
    unrenderable({ channel, kind, error }) {
      const line = () => ({ event: 'unrenderable', channel, kind, err: describeFault(error) })
      rarely.error(`unrenderable/${channel}/${kind}`, line, 'look at the templates')
    },
    receipt: event => logReceipt(log, throttles, event),
  }
}

function logCallback(log: Logger, { rarely, often }: LogThrottles, event: EventOf<'callback'>): void {
  const { channel, method, kind, answer, refusal, signature, outdated, ids, tookMs } = event
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
}

function logReceipt(
  log: Logger,
  { rarely }: LogThrottles,
  { providerId, status, errorCode, result }: EventOf<'receipt'>,
): void {
  if (result === 'forged') {
    rarely.warn(
      'receipt/forged',
      { event: 'receipt', result },
      'a delivery report with a wrong signature: forged, or PUBLIC_URL or TWILIO_AUTH_TOKEN is not what Twilio has',
    )
    return
  }
  const line = { event: 'receipt', provider_id: providerId, status, code: errorCode, result }
  if (result === 'recorded') log.info(line, status)
  else log.debug(line, result === 'stale' ? 'later than a newer one' : 'of a message that is not ours')
}

/** Tells the operator what the POSTs' signatures say about POST_SIGNATURE. */
function logSignatureNews(log: Logger, { is, channel, came }: EventOf<'signature-news'>): void {
  if (is === 'required-is-safe') {
    log.info(
      { event: 'signatures', advice: 'required' },
      'every POST came signed and right for a while: POST_SIGNATURE=required would be safe',
    )
  } else if (is === 'no-longer-safe') {
    log.warn(
      { event: 'signatures', advice: 'observe', channel, signature: came },
      'a POST came that POST_SIGNATURE=required would have refused: keep observe',
    )
  } else {
    log.info(
      { event: 'signatures', advice: 'observe', channel },
      'the platform does not sign its POSTs: keep observe, and name its networks in ALLOWED_SOURCES',
    )
  }
}
