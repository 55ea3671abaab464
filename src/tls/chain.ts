import { X509Certificate } from 'node:crypto'
import { getCACertificates, rootCertificates } from 'node:tls'

/**
 * Whether a client that knows only the public authorities can follow a certificate to one of them.
 *
 * - `complete`     the file leads to an authority: a public one, one that is in the file itself, or one of the operator's own
 * - `incomplete`   an intermediate is missing; browsers fetch or remember it, Java clients refuse
 * - `self-signed`  it vouches for itself
 */
export type Chain = 'complete' | 'incomplete' | 'self-signed'

export interface ChainReport {
  readonly chain: Chain
  readonly problems: readonly string[]
}

/** Every certificate of a PEM file, in its order. @throws when one of them cannot be read. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map(block => new X509Certificate(block))
}

/**
 * Follows `leaf` through the other certificates of its file. Nothing is fetched.
 * @param authorities the public ones; those that come with Node (Mozilla's list) when not given.
 * @param own the operator's; those of NODE_EXTRA_CA_CERTS when not given.
 */
export function followChain(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[] = publicAuthorities(),
  own: readonly X509Certificate[] = getCACertificates('extra').map(pem => new X509Certificate(pem)),
): ChainReport {
  if (isSelfSigned(leaf))
    return {
      chain: 'self-signed',
      problems: [
        'the certificate is self-signed: get one of a public authority, since only clients that are told to trust this one do',
      ],
    }
  const followed = [leaf]
  for (let top = leaf; ; ) {
    const reached = authorities.some(root => root.fingerprint256 === top.fingerprint256 || signs(root, top))
    if (reached) return { chain: 'complete', problems: orderProblems(followed, others) }
    const issuer = others.find(other => !followed.includes(other) && signs(other, top))
    if (issuer === undefined) return unfinished(top, followed, others, own)
    followed.push(issuer)
    top = issuer
  }
}

function unfinished(
  top: X509Certificate,
  followed: readonly X509Certificate[],
  others: readonly X509Certificate[],
  own: readonly X509Certificate[],
): ChainReport {
  if (isSelfSigned(top) || own.some(root => signs(root, top)))
    return {
      chain: 'complete',
      problems: [
        `its authority (${nameOf(top.issuer)}) is not a public one: the platform has to be told to trust it`,
        ...orderProblems(followed, others),
      ],
    }
  return {
    chain: 'incomplete',
    problems: [
      `the certificate of its issuer (${nameOf(top.issuer)}) is missing in the file, so Java clients will refuse the URL: use the full chain, such as fullchain.pem instead of cert.pem`,
    ],
  }
}

/** Finds what is wrong with the order: TLS 1.2 wants each certificate to certify the one before it (RFC 5246 7.4.2), and strict clients insist. */
function orderProblems(
  followed: readonly X509Certificate[],
  others: readonly X509Certificate[],
): readonly string[] {
  const inOrder = followed.slice(1).every((certificate, at) => certificate === others[at])
  return inOrder
    ? []
    : ['the certificates of the file are not in order: first your own, then each one followed by its issuer']
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
