import { SOURCE_REFUSED } from '../../callback/authenticate.ts'
import type { Config } from '../../config/config.ts'
import { say } from '../../language/sentence.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import type { CallbackUrl } from '../../service/callback-urls.ts'
import { CertificateUnusable, loadCertificate } from '../../tls/certificate.ts'
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
        ? checkWarning(`${channel} URL`, say('validates, by an authority of TLS_CA_FILE alone'), TRUST_OWN)
        : judgeValidation(`${channel} URL`, answer)
    }),
  )
}

const TRUST_OWN = say('have the platform trust that authority, or serve a certificate of a public one')

function judgeValidation(about: string, answer: CallbackAnswer): CheckResult {
  if (answer.is === 'unreachable' && answer.certificateRefused)
    return checkWarning(
      about,
      `the certificate that is shown at PUBLIC_URL is refused from here: ${answer.why}`,
      'the platform will refuse it, too, unless it was told to trust it: serve one of a public authority, for this name, with its whole chain; one of your own is named in TLS_CA_FILE',
    )
  if (answer.is === 'unreachable')
    return checkWarning(
      about,
      `nobody answers at PUBLIC_URL from here: ${answer.why}`,
      'start the service; or the way to it is not open from this machine',
    )
  if (answer.status === 200 && answer.errCode === 0) return checkOk(about, `validates, in ${answer.ms} ms`)
  if (answer.errMsg === SOURCE_REFUSED)
    return checkOk(
      about,
      say('answers, and lets nobody in from this machine (ALLOWED_SOURCES, TRUSTED_PROXIES)'),
      say('validate once more in the platform’s console: only its own networks can try key and Token'),
    )
  return checkFailure(
    about,
    `HTTP ${answer.status}, err_code ${answer.errCode ?? 'none'} ${answer.errMsg}`.trimEnd(),
    answer.errCode === null
      ? 'something else answers at PUBLIC_URL: look at the proxy in front'
      : 'the running service has other settings than these: restart it, or run check with its settings',
  )
}

const ABOUT = 'certificate'

/**
 * Checks the certificate that is served: its key, names, chain and expiry.
 * @param now ms since the epoch.
 */
export function checkCertificate(config: Config, now: number): readonly CheckResult[] {
  if (!config.TLS)
    return [checkOk(ABOUT, 'TLS=off: a proxy in front has to end TLS, the platform calls https only')]
  try {
    return [...checkFiles(config, now)]
  } catch (error) {
    if (!(error instanceof CertificateUnusable)) throw error
    // Behind the name of a setting there may be a colon, too.
    const [, what = error.message, next = 'the service does not start without a certificate and its key'] =
      /^((?:\w+: )?[^:]*): (.*)$/s.exec(error.message) ?? []
    return [checkFailure(ABOUT, what, next)]
  }
}

function* checkFiles(config: Config, now: number): Generator<CheckResult> {
  const files = { certFile: config.TLS_CERT_FILE ?? '', keyFile: config.TLS_KEY_FILE ?? '' }
  const certificate = loadCertificate(files, now)
  const until = new Date(certificate.expiresAt).toISOString().slice(0, 10)
  yield checkOk(ABOUT, `for ${certificate.names.join(', ') || 'nobody'}, until ${until}`)
  const host = config.PUBLIC_URL === undefined ? undefined : new URL(config.PUBLIC_URL).hostname
  if (host !== undefined && !certificate.covers(host.replace(/^\[|\]$/g, '')))
    yield checkFailure(
      ABOUT,
      `is not for ${host}, the host in PUBLIC_URL`,
      'get one for that name, or correct PUBLIC_URL',
    )
  const broken = certificate.chain === 'incomplete' || certificate.expiresAt <= now
  for (const problem of certificate.problems) {
    const [what = problem, next = 'see that a certificate of a public authority is served'] =
      problem.split(/: (.*)/)
    yield broken ? checkFailure(ABOUT, what, next) : checkWarning(ABOUT, what, next)
  }
}
