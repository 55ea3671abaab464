import { type Config, ConfigError } from '../../config/config.ts'
import { topicsOf } from '../../devices/alert-table.ts'
import { describeFailure } from '../../devices/platform-api.ts'
import { say, withRemedy } from '../../language/sentence.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'
import { openDdq, readAlerts } from '../../service/device-alerts.ts'
import { resultOfFault } from './settings.ts'

const alerts = checksOf('alerts')

/**
 * Device alerts, when they are on: the table, and the login. Nothing is subscribed to: the platform might give messages
 * to one listener only, and the running service would miss them.
 * @param locales tags of the languages that there are words in.
 */
export async function checkAlerts(
  config: Config,
  locales: readonly string[],
): Promise<readonly CheckResult[]> {
  const { DDQ_URL, DDQ_AUTH_URL } = config
  if (DDQ_URL === undefined || DDQ_AUTH_URL === undefined) return []
  let results: CheckResult[]
  try {
    const rows = readAlerts(config, locales)
    const people = new Set(
      rows.flatMap(({ recipients }) => recipients.map(({ channel, to }) => `${channel} ${to}`)),
    )
    const topics = topicsOf(rows, DDQ_URL.anyProduct)
    results = [
      alerts.ok(
        say('{rows} rows, {recipients} recipients, {topics} topics', {
          rows: rows.length,
          recipients: people.size,
          topics: topics.length,
        }),
      ),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    results = error.faults.map(fault =>
      resultOfFault('fail', { remedy: 'docs/alerts.md shows what a row is', ...fault }),
    )
  }
  const ddq = openDdq(config)
  try {
    const login = await ddq.credential.getToken()
    return [
      ...results,
      'is' in login
        ? alerts.fail(
            withRemedy(say('log in at {url}', { url: DDQ_AUTH_URL }), describeFailure(login)),
            'look at DDQ_AUTH_URL, DDQ_APP_ID and DDQ_APP_SECRET',
          )
        : alerts.ok(
            say('the application logs in at {url}', { url: DDQ_AUTH_URL }),
            'callback-courier ddq tail shows whether messages come',
          ),
    ]
  } finally {
    await ddq.close()
  }
}
