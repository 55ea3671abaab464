import { type Config, ConfigError } from '../config/config.ts'
import { type AlertRow, parseAlertTable, topicsOf } from '../devices/alert-table.ts'
import { type AlertsOptions, createAlerts } from '../devices/alerts.ts'
import type { Timings } from '../devices/ddq-client.ts'
import { createCredential, openPlatform } from '../devices/platform-api.ts'
import { say, withRemedy } from '../language/sentence.ts'
import { monotonic } from '../runtime/clock.ts'
import { matchLocale } from '../words/catalog.ts'
import { openRecipientReader } from './factories.ts'

/** The parts of device alerts, from the settings. This file is loaded only when DDQ_URL is set. */

/** The times of the contract's client sample, ms; the timeout of an answer is ours. */
export const DDQ_TIMINGS: Timings = {
  heartbeatMs: 1000,
  silenceMs: 15_000,
  reconnectMs: 5000,
  answerMs: 10_000,
}

/** The endpoint of DDQ and the credential to log in there; `close` closes the connections to the platform's API. */
export function openDdq(settings: Pick<Config, Extract<keyof Config, `DDQ_${string}`>>) {
  const {
    DDQ_URL: endpoint,
    DDQ_AUTH_URL: baseUrl,
    DDQ_APP_ID: appId = '',
    DDQ_APP_SECRET: appSecret = '',
  } = settings
  if (endpoint === undefined || baseUrl === undefined) throw new Error('DDQ_URL and DDQ_AUTH_URL are needed')
  const platform = openPlatform({ baseUrl })
  const credential = createCredential(() => platform.logInAsApp({ appId, appSecret }))
  return { endpoint, appId, credential, close: platform.close }
}

/**
 * Reads ALERTS.
 * @param locales tags of the languages that there are words in.
 * @throws ConfigError that names each line at fault, without the recipients on it.
 */
export function readAlerts(config: Config, locales: readonly string[]): readonly AlertRow[] {
  const recipients = openRecipientReader(config)
  const { rows, faults } = parseAlertTable(config.ALERTS ?? '', {
    parseRecipient(channel, text) {
      const { valid, why } = recipients(channel, text, undefined)
      const [recipient] = valid
      if (recipient !== undefined) return { channel, ...recipient }
      if (channel === 'email') return 'is not an address'
      return why === 'country'
        ? 'is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)'
        : 'is not a mobile number'
    },
    channels: [
      ...(config.EMAIL_TOKEN === undefined ? [] : (['email'] as const)),
      ...(config.SMS_TOKEN === undefined ? [] : (['sms'] as const)),
    ],
    canonicalLocale: tag =>
      matchLocale(tag, locales) === null ? null : (Intl.getCanonicalLocales(tag)[0] ?? null),
  })
  if (faults.length > 0) {
    throw new ConfigError(
      faults.map(({ line, row, problem }) => ({
        name: 'ALERTS',
        problem: withRemedy(
          row === undefined ? say('line {line}', { line }) : say('line {line}, row {row}', { line, row }),
          problem,
        ),
      })),
    )
  }
  return rows
}

/** Wires device alerts, in the order of their road. */
export function createDeviceAlerts(
  config: Config,
  random: () => number,
  options: Omit<AlertsOptions, 'ddq'>,
) {
  const { close, ...ddq } = openDdq(config)
  const topics = topicsOf(options.rows, config.DDQ_URL?.anyProduct)
  const alerts = createAlerts({
    ...options,
    ddq: { ...ddq, timings: DDQ_TIMINGS, topics, random, now: monotonic },
  })
  return {
    ...alerts,
    async stop(): Promise<void> {
      await alerts.stop()
      await close()
    },
  }
}
