import { SOURCE_REFUSED } from '../../callback/authenticate.ts'
import type { Config } from '../../config/config.ts'
import { quote, say, tell } from '../../language/sentence.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'
import { type CallbackUrl, hostNameOf } from '../../service/callback-urls.ts'
import { dayOf, loadCertificate, whyRefused } from '../../tls/certificate.ts'
import type { CallbackAnswer, CallbackClient } from '../callback-client.ts'

/**
 * Validates each callback URL through PUBLIC_URL as the platform's console does: this checks name, certificate with its
 * whole chain, proxy, key and Token. No message is sent. Like a Java client, this one fetches no missing intermediate.
 * @param client trusts whom the platform does. @param ownClient trusts TLS_CA_FILE as well; null: it is not set.
 */
export async function checkCallbackUrls(
  entries: readonly CallbackUrl[],
  { CORP_ID: corpId }: Config,
  client: Pick<CallbackClient, 'validate'>,
  ownClient: Pick<CallbackClient, 'validate'> | null,
): Promise<readonly CheckResult[]> {
  return await Promise.all(
    entries.map(async ({ channel, url, token }) => {
      const answer = await client.validate(url, { corpId, token })
      const isRefused = answer.is === 'unreachable' && answer.certificateRefused
      const own = isRefused ? await ownClient?.validate(url, { corpId, token }) : undefined
      return own?.is === 'answered' && own.errCode === 0
        ? checksOf(`${channel} URL`).warn('validates, by an authority of TLS_CA_FILE alone', TRUST_OWN)
        : judgeValidation(`${channel} URL`, answer)
    }),
  )
}

const TRUST_OWN = 'have the platform trust that authority, or serve a certificate of a public one'

function judgeValidation(about: string, answer: CallbackAnswer): CheckResult {
  const url = checksOf(about)
  if (answer.is === 'unreachable' && answer.certificateRefused)
    return url.warn(
      say('the certificate that is shown at PUBLIC_URL is refused from here: {why}', {
        why: tell(answer.why),
      }),
      'the platform will refuse it, too, unless it was told to trust it: serve one of a public authority, for this name, with its whole chain; one of your own is named in TLS_CA_FILE',
    )
  if (answer.is === 'unreachable')
    return url.warn(
      say('nobody answers at PUBLIC_URL from here: {why}', { why: tell(answer.why) }),
      'start the service; or the way to it is not open from this machine',
    )
  if (answer.status === 200 && answer.errCode === 0)
    return url.ok(say('validates, in {ms} ms', { ms: answer.ms }))
  if (answer.errMsg === SOURCE_REFUSED)
    return url.ok(
      'answers, and lets nobody in from this machine (ALLOWED_SOURCES, TRUSTED_PROXIES)',
      'validate once more in the platform’s console: only its own networks can try key and Token',
    )
  const said = {
    status: answer.status,
    code: answer.errCode ?? say('none'),
    message: quote(answer.errMsg, String(answer.errCode)),
  }
  return url.fail(
    answer.errMsg === ''
      ? say('HTTP {status}, err_code {code}', said)
      : say('HTTP {status}, err_code {code} {message}', said),
    answer.errCode === null
      ? 'something else answers at PUBLIC_URL: look at the proxy in front'
      : 'the running service has other settings than these: restart it, or run check with its settings',
  )
}

const certificate = checksOf('certificate')
/** Certificates of 90 days are usually renewed 30 days before their end: two weeks before it something is wrong. */
const RENEWAL_OVERDUE_MS = 14 * 86_400_000

/**
 * Checks the certificate that is served: its names, chain and expiry. Without files that are a pair there is nothing to look at.
 * @param now ms since the epoch.
 */
export function* checkCertificate(config: Config, now: number): Generator<CheckResult> {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = config
  if (!config.TLS)
    return yield certificate.ok('TLS=off: a proxy in front has to end TLS, the platform calls https only')
  if (certFile === undefined || keyFile === undefined) return
  const loaded = loadCertificate({ certFile, keyFile })
  const names = loaded.names.join(', ') || say('nobody')
  const until = dayOf(loaded.expiresAt)
  yield certificate.ok(say('for {names}, until {until}', { names, until }))
  const refused = whyRefused(loaded, config.PUBLIC_URL && hostNameOf(config.PUBLIC_URL), now)
  const isOverdue = loaded.expiresAt - now < RENEWAL_OVERDUE_MS
  if (refused !== null) yield certificate.fail(refused.sentence, refused.remedy)
  else if (isOverdue)
    yield certificate.warn(say('the certificate in TLS_CERT_FILE expires on {until}', { until }), 'renew it')
  for (const { sentence, remedy } of loaded.flaws)
    yield certificate[loaded.chain === 'incomplete' ? 'fail' : 'warn'](sentence, remedy)
}
