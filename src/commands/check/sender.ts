import { createPrivateKey, createPublicKey } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import { judgeUnreadable } from '../../runtime/fault.ts'

/** Reserved names, which are in no DNS: RFC 2606, RFC 6762, and ICANN's `internal`. */
const RESERVED = /(?:^|\.)(?:example|invalid|test|localhost|local|internal)$/

/**
 * Checks what receivers look up about a sender: SPF of the bounce address's domain (RFC 7208) and DMARC of MAIL_FROM's
 * (RFC 7489). Without them mails are refused or sorted as junk. Whether the SPF record contains the mail server cannot be
 * checked from here.
 */
export async function checkSender(config: Config, resolveTxt: ResolveTxt): Promise<readonly CheckResult[]> {
  if (config.EMAIL_TOKEN === undefined || config.MAIL_FROM === undefined) return []
  const from = domainOf(config.MAIL_FROM.address)
  const bounce = domainOf(config.MAIL_BOUNCE_TO ?? config.MAIL_FROM.address)
  if (RESERVED.test(from))
    return [
      checkWarning(
        'MAIL_FROM',
        `${from} is no domain of the internet: receivers refuse such a sender`,
        'set MAIL_FROM to an address of your own domain',
      ),
    ]
  return await Promise.all([
    checkSpf(bounce, resolveTxt),
    checkDmarc({ from, bounce, dkim: config.DKIM_NAME?.domain }, resolveTxt),
  ])
}

async function checkSpf(domain: string, resolveTxt: ResolveTxt): Promise<CheckResult> {
  const answer = await readTxt(resolveTxt, domain)
  if (answer.is === 'unknown') return warnLookupFailed('SPF', domain, answer.why)
  const [record, ...more] =
    answer.is === 'none' ? [] : answer.records.filter(text => /^v=spf1(?: |$)/i.test(text))
  if (record === undefined)
    return checkWarning(
      'SPF',
      `${domain} has no SPF record`,
      `publish the TXT record that your mail server's operator names, such as: v=spf1 include:… ~all`,
    )
  if (more.length > 0)
    return checkWarning(
      'SPF',
      `${domain} has ${more.length + 1} SPF records, which receivers take for a fault`,
      'make them one',
    )
  if (/(?:^| )\+?all(?: |$)/i.test(record))
    return checkWarning(
      'SPF',
      `${domain} lets everybody send in its name (+all)`,
      'let it end in ~all or -all',
    )
  return checkOk('SPF', `${domain} names who may send: ${record.slice(0, 120)}`)
}

interface Domains {
  readonly from: string
  readonly bounce: string
  readonly dkim: string | undefined
}

async function checkDmarc(domains: Domains, resolveTxt: ResolveTxt): Promise<CheckResult> {
  for (const domain of parentDomains(domains.from)) {
    const answer = await readTxt(resolveTxt, `_dmarc.${domain}`)
    if (answer.is === 'unknown') return warnLookupFailed('DMARC', `_dmarc.${domain}`, answer.why)
    const record = answer.is === 'none' ? undefined : answer.records.find(text => /^v=DMARC1 *;/i.test(text))
    if (record !== undefined) return checkPolicy(record, domain, domains)
  }
  return checkWarning(
    'DMARC',
    `${domains.from} has no DMARC record, which large mailbox providers ask for`,
    `publish a TXT record under _dmarc.${domains.from}: v=DMARC1; p=none; rua=mailto:… and tighten it once the reports are clean`,
  )
}

function checkPolicy(record: string, domain: string, { from, bounce, dkim }: Domains): CheckResult {
  const policy = /; *p *= *(\w+)/i.exec(record)?.[1] ?? 'none'
  const what = `${domain} has p=${policy}`
  // DMARC passes with SPF or DKIM of the domain that readers see.
  if ([bounce, dkim].some(each => each !== undefined && isAligned(each, domain, from)))
    return checkOk('DMARC', what)
  return checkOk(
    'DMARC',
    what,
    `the bounce address is of ${bounce}, so only a DKIM signature of ${from} passes: let your mail server sign, or set DKIM_NAME`,
  )
}

function isAligned(domain: string, policyDomain: string, from: string): boolean {
  return domain === policyDomain || domain.endsWith(`.${policyDomain}`) || from.endsWith(`.${domain}`)
}

/** A domain and those above it, but no top-level domain. */
function parentDomains(domain: string): readonly string[] {
  const labels = domain.split('.')
  return labels.slice(0, Math.max(1, labels.length - 1)).map((_, at) => labels.slice(at).join('.'))
}

function warnLookupFailed(about: string, name: string, why: string): CheckResult {
  return checkWarning(
    about,
    `could not be looked up from here (${why})`,
    `look from elsewhere: dig +short TXT ${name}`,
  )
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** Finds the texts of a DNS name's TXT records; rejects as node:dns does. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>

/** The records under a name; `unknown`: the DNS could not be asked. */
type TxtAnswer =
  | { readonly is: 'found'; readonly records: readonly string[] }
  | { readonly is: 'none' }
  | { readonly is: 'unknown'; readonly why: string }

/**
 * Asks name servers and gives up soon.
 * @param withinMs for one question.
 * @param resolver the system's name servers, unless given.
 */
export function createResolveTxt(
  withinMs = 3000,
  resolver = new Resolver({ timeout: 1500, tries: 1 }),
): ResolveTxt {
  return async name => {
    const timer = setTimeout(() => resolver.cancel(), withinMs)
    try {
      return await resolver.resolveTxt(name)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The TXT records of a name, each put together from its pieces. */
export async function readTxt(resolveTxt: ResolveTxt, name: string): Promise<TxtAnswer> {
  try {
    const records = (await resolveTxt(name)).map(pieces => pieces.join(''))
    return records.length === 0 ? { is: 'none' } : { is: 'found', records }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
    return code === 'ENOTFOUND' || code === 'ENODATA' ? { is: 'none' } : { is: 'unknown', why: code }
  }
}

/** Checks that the DKIM key can be read and that the DNS has its public half. */
export async function checkDkim(
  config: Config,
  readFile: (path: string) => string,
  resolveTxt: ResolveTxt,
): Promise<readonly CheckResult[]> {
  const { DKIM_KEY_FILE: path, DKIM_NAME: name } = config
  if (path === undefined || name === undefined) return []
  return [await judgeKey({ path, ...name }, readFile, resolveTxt)]
}

async function judgeKey(
  { path, domain, selector }: { readonly path: string; readonly domain: string; readonly selector: string },
  readFile: (path: string) => string,
  resolveTxt: ResolveTxt,
): Promise<CheckResult> {
  let pem: string
  try {
    pem = readFile(path)
  } catch (error) {
    const { problem, remedy } = judgeUnreadable(error)
    return checkFailure('DKIM', `${path} ${problem}`, remedy)
  }
  let published: string
  try {
    const key = createPublicKey(createPrivateKey(pem))
    if (key.asymmetricKeyType !== 'rsa')
      return checkFailure(
        'DKIM',
        `${path} is no RSA key`,
        'give an RSA key of 2048 bits: receivers check nothing else reliably',
      )
    published = key.export({ type: 'spki', format: 'der' }).toString('base64')
  } catch {
    // Without the cause: nobody knows what an OpenSSL message quotes.
    return checkFailure(
      'DKIM',
      `${path} cannot be read as a private key`,
      'give a PEM file without a passphrase',
    )
  }
  const name = `${selector}._domainkey.${domain}`
  const looked = await readTxt(resolveTxt, name)
  if (looked.is === 'unknown')
    return checkWarning(
      'DKIM',
      `the key under ${name} could not be looked up from here (${looked.why})`,
      `look from elsewhere: dig +short TXT ${name}`,
    )
  const records = looked.is === 'none' ? [] : looked.records
  const found = records.map(text => text.replaceAll(/\s/g, '')).find(text => /(^|;)p=/.test(text))
  if (found === undefined)
    return checkWarning(
      'DKIM',
      `there is no key under ${name}`,
      `publish there: v=DKIM1; k=rsa; p=${published}`,
    )
  if (!found.includes(published))
    return checkFailure(
      'DKIM',
      `the key under ${name} is another one`,
      'publish the public half of DKIM_KEY_FILE, or change DKIM_NAME',
    )
  return checkOk('DKIM', `signs for ${domain}; the DNS has the same key`)
}
