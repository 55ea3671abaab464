import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import { CertificateUnusable, loadCertificate } from '../../tls/certificate.ts'

const ABOUT = 'certificate'

/**
 * Checks the certificate that is served: its key, names, chain and expiry.
 * @param now ms since the epoch.
 */
export function checkCertificate(config: Config, now: number): readonly CheckResult[] {
  if (!config.TLS)
    return [checkOk(ABOUT, 'TLS=off: a proxy in front has to end TLS, the platform calls https only')]
  try {
    return checkFiles(config, now)
  } catch (error) {
    if (!(error instanceof CertificateUnusable)) throw error
    // Behind the name of a setting there may be a colon, too.
    const [, what = error.message, next = 'the service does not start without a certificate and its key'] =
      /^((?:\w+: )?[^:]*): (.*)$/s.exec(error.message) ?? []
    return [checkFailure(ABOUT, what, next)]
  }
}

function checkFiles(config: Config, now: number): readonly CheckResult[] {
  const files = { certFile: config.TLS_CERT_FILE ?? '', keyFile: config.TLS_KEY_FILE ?? '' }
  const certificate = loadCertificate(files, now)
  const until = new Date(certificate.expiresAt).toISOString().slice(0, 10)
  const results: CheckResult[] = [
    checkOk(ABOUT, `for ${certificate.names.join(', ') || 'nobody'}, until ${until}`),
  ]
  const host = config.PUBLIC_URL === undefined ? undefined : new URL(config.PUBLIC_URL).hostname
  if (host !== undefined && !certificate.covers(host.replace(/^\[|\]$/g, '')))
    results.push(
      checkFailure(
        ABOUT,
        `is not for ${host}, the host in PUBLIC_URL`,
        'get one for that name, or correct PUBLIC_URL',
      ),
    )
  const broken = certificate.chain === 'incomplete' || certificate.expiresAt <= now
  for (const problem of certificate.problems) {
    const [what = problem, next = 'see that a certificate of a public authority is served'] =
      problem.split(/: (.*)/)
    results.push(broken ? checkFailure(ABOUT, what, next) : checkWarning(ABOUT, what, next))
  }
  return results
}
