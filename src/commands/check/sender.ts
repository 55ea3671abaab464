import { createPublicKey, type KeyObject } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import type { Config } from '../../config/config.ts'
import { type Sentence, say, term } from '../../language/sentence.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'

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
      checksOf('MAIL_FROM').warn(
        say('{from} is no domain of the internet: receivers refuse such a sender', { from }),
        'set MAIL_FROM to an address of your own domain',
      ),
    ]
  return await Promise.all([checkSpf(bounce, resolveTxt), checkDmarc(from, resolveTxt)])
}

const spf = checksOf('SPF')
const dmarc = checksOf('DMARC')
const dkim = checksOf('DKIM')

async function checkSpf(domain: string, resolveTxt: ResolveTxt): Promise<CheckResult> {
  const answer = await readTxt(resolveTxt, domain)
  if ('why' in answer) return warnLookupFailed(spf, domain, answer.why)
  const [record, ...more] = answer.records.filter(text => /^v=spf1(?: |$)/i.test(text))
  if (record === undefined)
    return spf.warn(
      say('{domain} has no SPF record', { domain }),
      "publish the TXT record that your mail server's operator names, such as: v=spf1 include:… ~all",
    )
  if (more.length > 0)
    return spf.warn(
      say('{domain} has {n} SPF records, which receivers take for a fault', { domain, n: more.length + 1 }),
      'make them one',
    )
  if (/(?:^| )\+?all(?: |$)/i.test(record))
    return spf.warn(
      say('{domain} lets everybody send in its name (+all)', { domain }),
      'let it end in ~all or -all',
    )
  return spf.ok(say('{domain} names who may send: {record}', { domain, record: record.slice(0, 120) }))
}

async function checkDmarc(from: string, resolveTxt: ResolveTxt): Promise<CheckResult> {
  for (const domain of parentDomains(from)) {
    const answer = await readTxt(resolveTxt, `_dmarc.${domain}`)
    if ('why' in answer) return warnLookupFailed(dmarc, `_dmarc.${domain}`, answer.why)
    const record = answer.records.find(text => /^v=DMARC1 *;/i.test(text))
    const policy = /; *p *= *(\w+)/i.exec(record ?? '')?.[1] ?? 'none'
    if (record !== undefined) return dmarc.ok(say('{domain} has p={policy}', { domain, policy }))
  }
  return dmarc.warn(
    say('{from} has no DMARC record, which large mailbox providers ask for', { from }),
    say(
      'publish a TXT record under _dmarc.{from}: v=DMARC1; p=none; rua=mailto:… and tighten it once the reports are clean',
      { from },
    ),
  )
}

/** A domain and those above it, but no top-level domain. */
function parentDomains(domain: string): readonly string[] {
  const labels = domain.split('.')
  return labels.slice(0, Math.max(1, labels.length - 1)).map((_, at) => labels.slice(at).join('.'))
}

function warnLookupFailed(checks: typeof dkim, name: string, why: Sentence): CheckResult {
  return checks.warn(
    say('could not be looked up from here ({why})', { why }),
    say('look from elsewhere: dig +short TXT {name}', { name }),
  )
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** Finds the texts of a DNS name's TXT records; rejects as node:dns does. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>

/** The records under a name, or why the DNS could not be asked. */
type TxtAnswer = { readonly records: readonly string[] } | { readonly why: Sentence }

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
    return { records: (await resolveTxt(name)).map(pieces => pieces.join('')) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    if (code === 'ENOTFOUND' || code === 'ENODATA') return { records: [] }
    return { why: code === undefined ? say('no answer') : term(code) }
  }
}

/** Checks that the DNS has the public half of the DKIM key. @param readFile reads a text file that holds an RSA key */
export async function checkDkim(
  { DKIM_KEY_FILE: path, DKIM_NAME: signer }: Config,
  readFile: (path: string) => string,
  resolveTxt: ResolveTxt,
): Promise<readonly CheckResult[]> {
  if (path === undefined || signer === undefined) return []
  return [await comparePublicKey(createPublicKey(readFile(path)), signer, resolveTxt)]
}

async function comparePublicKey(
  key: KeyObject,
  { selector, domain }: NonNullable<Config['DKIM_NAME']>,
  resolveTxt: ResolveTxt,
): Promise<CheckResult> {
  const published = key.export({ type: 'spki', format: 'der' }).toString('base64')
  const name = `${selector}._domainkey.${domain}`
  const looked = await readTxt(resolveTxt, name)
  if ('why' in looked) return warnLookupFailed(dkim, name, looked.why)
  const found = looked.records.map(text => text.replaceAll(/\s/g, '')).find(text => /(^|;)p=/.test(text))
  if (found === undefined) {
    const next = say('publish there: v=DKIM1; k=rsa; p={published}', { published })
    return dkim.warn(say('there is no key under {name}', { name }), next)
  }
  if (found.includes(published))
    return dkim.ok(say('signs for {domain}; the DNS has the same key', { domain }))
  return dkim.fail(
    say('the key under {name} is another one', { name }),
    'publish the public half of DKIM_KEY_FILE, or change DKIM_NAME',
  )
}
