import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext, getCACertificates, rootCertificates, setDefaultCACertificates } from 'node:tls'
import { say, ToldError, tell, type Words, withRemedy } from '../language/sentence.ts'
import { judgeUnreadable } from '../runtime/fault.ts'

/** A certificate and its key, ready to be served, and what is to be said about it. */
export interface Certificate {
  /** PEM, with whatever intermediates the file has. */
  readonly cert: string
  /** PEM. */
  readonly key: string
  /** Host names and addresses that it is for. */
  readonly names: readonly string[]
  /** Valid from and until, ms since the epoch. */
  readonly startsAt: number
  readonly expiresAt: number
  readonly chain: Chain
  /** Reasons why some clients may refuse it, whatever the date; it can be served nevertheless. */
  readonly flaws: readonly CertificateFlaw[]
  /** @returns whether a client that asks for this host name or address accepts it. */
  covers(host: string): boolean
}

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** What is wrong with a certificate that can be served, and what to do. */
export interface CertificateFlaw {
  readonly sentence: Words
  readonly remedy: Words
}

/** A pair of files that cannot be served, and why. The message says what to do and holds no key. */
export class CertificateUnusable extends ToldError {
  override readonly name = 'CertificateUnusable'
  /** The setting of the file, its fault as it goes on behind that, and what to do. */
  readonly fault: { readonly name: string; readonly problem: Words; readonly remedy: Words | undefined }

  constructor(name: string, problem: Words, remedy?: Words, options?: ErrorOptions) {
    super(withRemedy(say('{name} {problem}', { name, problem: tell(problem) }), remedy), options)
    this.fault = { name, problem, remedy }
  }
}

/**
 * Reads a certificate (PEM, leaf first) and its private key (PEM, without passphrase).
 * @throws CertificateUnusable when a file cannot be read, is not PEM, is too weak to be served, or key and certificate are
 *   not a pair.
 */
export function loadCertificate(files: CertificateFiles): Certificate {
  const { cert, key } = readPair(files)
  return parseCertificate(cert, key)
}

/** The two files' texts. @throws CertificateUnusable when one cannot be read. */
export function readPair(files: CertificateFiles): { readonly cert: string; readonly key: string } {
  return { cert: textOf(files.certFile, 'TLS_CERT_FILE'), key: textOf(files.keyFile, 'TLS_KEY_FILE') }
}

/** Reads a certificate and its key from PEM texts. @throws CertificateUnusable as loadCertificate does */
export function parseCertificate(cert: string, key: string): Certificate {
  const [leaf, ...others] = certificatesOf(cert)
  if (leaf === undefined)
    throw new CertificateUnusable('TLS_CERT_FILE', 'holds no certificate (-----BEGIN CERTIFICATE-----)')
  if (!leaf.checkPrivateKey(privateKeyOf(key)))
    throw new CertificateUnusable('TLS_KEY_FILE', 'is not the key of the first certificate in TLS_CERT_FILE')
  try {
    // OpenSSL refuses what it takes for weak. A server of it would not start, or not take it at a renewal.
    createSecureContext({ cert, key })
  } catch (error) {
    const { code = 'unknown fault' } = error as NodeJS.ErrnoException
    const problem = say('holds a certificate that cannot be served ({code})', { code })
    const remedy = 'get one with a P-256 key, or an RSA key of 2048 bits or more'
    throw new CertificateUnusable('TLS_CERT_FILE', problem, remedy, { cause: error })
  }
  const names = namesOf(leaf)
  const { chain, flaw } = followChain(leaf, others)
  return {
    cert,
    key,
    names,
    startsAt: leaf.validFromDate.getTime(),
    expiresAt: leaf.validToDate.getTime(),
    chain,
    flaws: [...(names.length === 0 ? [NAMELESS] : []), ...(flaw === null ? [] : [flaw])],
    covers: host => (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined,
  }
}

/**
 * Says why clients refuse a certificate now; null: they do not, unless its chain is wrong.
 * @param host the name or address that they call; undefined: nobody knows. @param now ms since the epoch.
 */
export function whyRefused(
  { names, startsAt, expiresAt, covers }: Certificate,
  host: string | undefined,
  now: number,
): CertificateFlaw | null {
  if (now >= expiresAt) {
    const sentence = say('the certificate in TLS_CERT_FILE expired on {until}', { until: dayOf(expiresAt) })
    return { sentence, remedy: 'renew it' }
  }
  if (now < startsAt) {
    const from = dayOf(startsAt)
    const sentence = say('the certificate in TLS_CERT_FILE is valid only from {from}', { from })
    return { sentence, remedy: "look at this machine's clock" }
  }
  if (host === undefined || covers(host)) return null
  const sentence = say(
    'the certificate in TLS_CERT_FILE is for {names}, not for {host}, the host in PUBLIC_URL',
    { names: names.join(', ') || say('no name'), host },
  )
  return { sentence, remedy: 'get one for that name, or correct PUBLIC_URL' }
}

function textOf(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { problem, remedy } = judgeUnreadable(error)
    const unreadable = say('names {path}, which {problem}', { path, problem: tell(problem) })
    throw new CertificateUnusable(setting, unreadable, remedy, { cause: error })
  }
}

function certificatesOf(pem: string): readonly X509Certificate[] {
  try {
    return readCertificates(pem)
  } catch (error) {
    throw new CertificateUnusable('TLS_CERT_FILE', 'holds a damaged certificate', undefined, { cause: error })
  }
}

function privateKeyOf(pem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem))
    throw new CertificateUnusable('TLS_KEY_FILE', 'has a passphrase', 'give a key without one')
  try {
    return createPrivateKey(pem)
  } catch {
    // Without the cause: nobody knows what an OpenSSL message quotes.
    throw new CertificateUnusable('TLS_KEY_FILE', 'holds no private key in PEM (-----BEGIN PRIVATE KEY-----)')
  }
}

/** `DNS:a.example.com, IP Address:192.0.2.1` as Node prints it. */
function namesOf(leaf: X509Certificate): readonly string[] {
  const names = leaf.subjectAltName?.split(', ') ?? []
  return names.flatMap(name => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? [])
}

const NAMELESS: CertificateFlaw = {
  sentence: 'it names no host (subjectAltName), so no client accepts it',
  remedy: 'see that a certificate of a public authority is served',
}

/** `2026-11-21`, UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/**
 * Says whether a client that knows only the public authorities can follow a certificate to one of them.
 *
 * - `complete`     the file leads to an authority: a public one, one that is in the file itself, or one of the operator's own
 * - `incomplete`   an intermediate is missing; browsers fetch or remember it, Java clients refuse
 * - `self-signed`  it vouches for itself
 */
export type Chain = 'complete' | 'incomplete' | 'self-signed'

interface ChainFound {
  readonly chain: Chain
  readonly flaw: CertificateFlaw | null
}

/** Every certificate of a PEM file, in its order. @throws when one of them cannot be read. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map(block => new X509Certificate(block))
}

/**
 * Follows `leaf` through the other certificates of its file. Nothing is fetched. The operator's own authorities are those of
 * NODE_EXTRA_CA_CERTS.
 * @param authorities the public ones; those that come with Node (Mozilla's list) when not given.
 */
export function followChain(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  authorities?: readonly X509Certificate[],
): ChainFound {
  if (isSelfSigned(leaf)) return { chain: 'self-signed', flaw: SELF_SIGNED }
  authorities ??= publicAuthorities()
  const own = getCACertificates('extra').map(pem => new X509Certificate(pem))
  const left = new Set(others)
  let top = leaf
  for (let issuer: X509Certificate | undefined = leaf; issuer !== undefined; ) {
    top = issuer
    left.delete(top)
    if (authorities.some(root => root.fingerprint256 === top.fingerprint256 || signs(root, top)))
      return { chain: 'complete', flaw: null }
    issuer = [...left].find(other => signs(other, top))
  }
  const authority = nameOf(top.issuer)
  if (isSelfSigned(top) || own.some(root => signs(root, top))) {
    const sentence = say('its authority ({authority}) is not a public one', { authority })
    return { chain: 'complete', flaw: { sentence, remedy: 'the platform has to be told to trust it' } }
  }
  const sentence = say(
    'the certificate of its issuer ({issuer}) is missing in the file, so Java clients will refuse the URL',
    { issuer: authority },
  )
  const remedy = 'use the full chain, such as fullchain.pem instead of cert.pem'
  return { chain: 'incomplete', flaw: { sentence, remedy } }
}

const SELF_SIGNED: CertificateFlaw = {
  sentence: 'the certificate is self-signed',
  remedy: 'get one of a public authority, since only clients that are told to trust this one do',
}

let publicOnes: readonly X509Certificate[] | undefined

/** Gives the public authorities. They are read once, when first asked for, since that takes some 10 ms. */
function publicAuthorities(): readonly X509Certificate[] {
  publicOnes ??= rootCertificates.map(pem => new X509Certificate(pem))
  return publicOnes
}

/** Says whether a certificate vouches for itself, even if its key usage does not allow it to sign. */
function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey)
}

function signs(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

/** The common name of a distinguished name as Node prints it, or its organisation, or all of it. */
function nameOf(distinguished: string): string {
  const part = (key: string) => new RegExp(`^${key}=(.+)$`, 'm').exec(distinguished)?.[1]
  return part('CN') ?? part('O') ?? distinguished.replaceAll('\n', ', ')
}

/** The certificates of a PEM text; null when it has none, or a damaged one. */
export function readAuthorities(pem: string): readonly string[] | null {
  try {
    const found = readCertificates(pem)
    return found.length === 0 ? null : found.map(each => each.toString())
  } catch {
    return null
  }
}

/**
 * Trusts the authorities of a file, beside the usual ones, on every TLS connection that this process opens from now on:
 * to mail servers, carriers, Postgres and the platform.
 * @param file PEM; undefined: nobody else is trusted.
 * @param readFile reads a text file; throws as node:fs does.
 */
export function trustAuthorities(file: string | undefined, readFile: (path: string) => string): void {
  const own = file === undefined ? null : readAuthorities(readFile(file))
  if (own !== null) setDefaultCACertificates([...getCACertificates('default'), ...own])
}
