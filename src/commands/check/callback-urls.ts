import type { CallbackClient } from '../../platform/callback-client.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import type { CallbackUrl } from '../../service/callback-urls.ts'

/**
 * Validates each callback URL through PUBLIC_URL as the platform's console does: this checks name, certificate with its
 * whole chain, proxy, key and Token. No message is sent. Like a Java client, this one fetches no missing intermediate.
 */
export async function checkCallbackUrls(
  entries: readonly CallbackUrl[],
  corpId: string,
  platform: CallbackClient,
): Promise<readonly CheckResult[]> {
  return await Promise.all(
    entries.map(async ({ channel, url, token }) => {
      const about = `${channel} URL`
      const answer = await platform.validate(url, { corpId, token })
      if (answer.is === 'unreachable' && answer.certificateRefused)
        return checkWarning(
          about,
          `the certificate that is shown at PUBLIC_URL is refused from here: ${answer.why}`,
          'the platform will refuse it, too, unless it was told to trust it: serve one of a public authority, for this name, with its whole chain',
        )
      if (answer.is === 'unreachable')
        return checkWarning(
          about,
          `nobody answers at PUBLIC_URL from here: ${answer.why}`,
          'start the service; or the way to it is not open from this machine',
        )
      if (answer.status === 200 && answer.errCode === 0)
        return checkOk(about, `validates, in ${answer.ms} ms`)
      return checkFailure(
        about,
        `HTTP ${answer.status}, err_code ${answer.errCode ?? 'none'} ${answer.errMsg}`.trimEnd(),
        answer.errCode === null
          ? 'something else answers at PUBLIC_URL: look at the proxy in front'
          : 'the running service has other settings than these: restart it, or run check with its settings',
      )
    }),
  )
}
