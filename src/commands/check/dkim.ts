import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import { describeUnreadable } from '../../runtime/unreadable-file.ts'
import { type ResolveTxt, readTxt } from './dns.ts'

/** Checks that the DKIM key can be read and that the DNS has its public half. */
export async function checkDkim(
  config: Config,
  readFile: (path: string) => string,
  resolveTxt: ResolveTxt,
): Promise<readonly CheckResult[]> {
  const { DKIM_KEY_FILE: path, DKIM_DOMAIN: domain, DKIM_SELECTOR: selector } = config
  if (path === undefined || domain === undefined || selector === undefined) return []
  let pem: string
  try {
    pem = readFile(path)
  } catch (error) {
    const [what = '', next = ''] = describeUnreadable(error).split(/: (.*)/)
    return [checkFailure('DKIM', `${path} ${what}`, next)]
  }
  let published: string
  try {
    const key = createPublicKey(createPrivateKey(pem))
    if (key.asymmetricKeyType !== 'rsa')
      return [
        checkFailure(
          'DKIM',
          `${path} is no RSA key`,
          'give an RSA key of 2048 bits: receivers check nothing else reliably',
        ),
      ]
    published = key.export({ type: 'spki', format: 'der' }).toString('base64')
  } catch {
    // Without the cause: nobody knows what an OpenSSL message quotes.
    return [
      checkFailure('DKIM', `${path} cannot be read as a private key`, 'give a PEM file without a passphrase'),
    ]
  }
  const name = `${selector}._domainkey.${domain}`
  const looked = await readTxt(resolveTxt, name)
  if (looked.is === 'unknown')
    return [
      checkWarning(
        'DKIM',
        `the key under ${name} could not be looked up from here (${looked.why})`,
        `look from elsewhere: dig +short TXT ${name}`,
      ),
    ]
  const records = looked.is === 'none' ? [] : looked.records
  const found = records.map(text => text.replaceAll(/\s/g, '')).find(text => /(^|;)p=/.test(text))
  if (found === undefined)
    return [
      checkWarning('DKIM', `there is no key under ${name}`, `publish there: v=DKIM1; k=rsa; p=${published}`),
    ]
  if (!found.includes(published))
    return [
      checkFailure(
        'DKIM',
        `the key under ${name} is another one`,
        'publish the public half of DKIM_KEY_FILE, or change DKIM_SELECTOR',
      ),
    ]
  return [checkOk('DKIM', `signs for ${domain}; the DNS has the same key`)]
}
