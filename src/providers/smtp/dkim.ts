import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'

export interface DkimSettings {
  readonly domain: string
  readonly selector: string
  /** PEM, without a passphrase. */
  readonly privateKey: string
}

/** Puts a DKIM-Signature in front of a finished message, which stays as it is otherwise. */
export type SignMessage = (raw: Buffer) => Promise<Buffer>

/**
 * The fields that readers see, those that decide how the message is read, and those that their programs act upon. Each name is signed once more than the field occurs,
 * which states that there is no further one (RFC 6376, 5.4.2 and 8.15). Otherwise a second Subject, From or To that somebody put
 * above ours would be shown under our signature, or a List-Unsubscribe be offered.
 */
const OVERSIGNED =
  `from sender to cc subject date reply-to message-id in-reply-to references resent-from auto-submitted
  list-unsubscribe list-unsubscribe-post mime-version content-type content-transfer-encoding`.split(/\s+/)
const HEADER_END = '\r\n\r\n'
const signAsync = promisify(sign)

/**
 * Makes the signer of RFC 6376: rsa-sha256, relaxed/relaxed. nodemailer's own signs each header once and cannot sign an
 * absent one.
 *
 * @throws TypeError for a key that is no RSA key; without the cause, since nobody knows what OpenSSL's message quotes.
 */
export function createDkimSigner({ domain, selector, privateKey }: DkimSettings): SignMessage {
  const key = readRsaKey(privateKey)
  return async raw => {
    const message = raw.toString('latin1')
    const end = message.indexOf(HEADER_END)
    if (end < 0) throw new Error('a message without the end of its header cannot be signed')
    const fields = message.slice(0, end).split(/\r\n(?![ \t])/)
    const bodyHash = createHash('sha256')
      .update(relaxBody(message.slice(end + HEADER_END.length)), 'latin1')
      .digest('base64')
    const { names, lines } = selectFields(fields)
    const unsigned = [
      'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; q=dns/txt;',
      ` d=${domain}; s=${selector};`,
      ` h=${names.join(':\r\n ')};`,
      ` bh=${bodyHash};`,
      ' b=',
    ].join('\r\n')
    const signed = Buffer.from([...lines, relaxField(unsigned)].join('\r\n'), 'latin1')
    const signature = (await signAsync('rsa-sha256', signed, key)).toString('base64')
    return Buffer.concat([Buffer.from(`${unsigned}${signature.replace(/.{72}(?=.)/g, '$&\r\n ')}\r\n`), raw])
  }
}

function readRsaKey(pem: string): KeyObject {
  const key = (() => {
    try {
      return createPrivateKey(pem)
    } catch {
      return undefined
    }
  })()
  if (key?.asymmetricKeyType !== 'rsa') throw new TypeError('the DKIM key is no RSA key in PEM')
  return key
}

/** Selects the names for `h=`, and the fields that they stand for, from the last field of a name upwards; an absent one has no line. */
function selectFields(fields: readonly string[]): {
  readonly names: readonly string[]
  readonly lines: readonly string[]
} {
  const relaxed = fields.map(relaxField)
  const selected = OVERSIGNED.map(name => relaxed.filter(line => line.startsWith(`${name}:`)).reverse())
  return {
    names: selected.map((lines, at) =>
      Array(lines.length + 1)
        .fill(OVERSIGNED[at])
        .join(':'),
    ),
    lines: selected.flat(),
  }
}

/** Relaxes a field by RFC 6376, 3.4.2: name in lower case, unfolded, each run of blanks one space, none around the colon or at the end. */
function relaxField(field: string): string {
  const colon = field.indexOf(':')
  const value = field
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .trim()
  return `${field.slice(0, colon).trim().toLowerCase()}:${value}`
}

/** Relaxes a body by RFC 6376, 3.4.4: each run of blanks one space, none at the end of a line, no empty lines at the end. */
function relaxBody(body: string): string {
  const lines = body
    .replace(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n')
    .split('\r\n')
  let last = lines.length
  while (last > 0 && (lines[last - 1] === '' || lines[last - 1] === ' ')) last -= 1
  return last === 0 ? '' : `${lines.slice(0, last).join('\r\n').replace(/ $/, '')}\r\n`
}
