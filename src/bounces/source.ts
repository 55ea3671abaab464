import { type BounceSource, type CarrierReport, receiptKeys, receiptPath } from '../providers/receipts.ts'
import { createRedactor } from '../providers/redact.ts'
import { faultOf } from './codes.ts'

/** Reads a mail that came back. */
export type ReadBounce = (message: Uint8Array) => Promise<readonly CarrierReport[]>

/**
 * Makes the reader of mails that came back. What it takes for that is loaded when the first one comes.
 * @param inSlices runs the reading of one mail when its turn comes: nobody waits for it, and anybody may send many.
 * @param hashOf names an address as the store does; null: it is no address.
 * @param probed the name of the address whose mails are expected to arrive here; those to others say nothing.
 */
export function createBounceReader(
  inSlices: (task: () => void) => void,
  hashOf: (address: string) => string | null,
  probed: string | null = null,
): ReadBounce {
  return async message => {
    const { readBounces } = await import('./report.ts')
    const read = () =>
      readBounces(message).flatMap(({ id, recipients, code, said }) => {
        const report = { id, recipients: recipients.flatMap(each => hashOf(each) ?? []) }
        if (code === 'arrived')
          return report.recipients[0] === probed ? { ...report, status: 'delivered', errorCode: null } : []
        return {
          ...report,
          status: code === 'complaint' ? 'complained' : 'undelivered',
          errorCode: code,
          fault: faultOf(code),
          reply: createRedactor({ to: recipients[0] ?? '' }).reply(said) || undefined,
        }
      })
    return new Promise(resolve => inSlices(() => resolve(Promise.try(read))))
  }
}

/** The provider whose mails come back. */
export const MAIL_PROVIDER = 'smtp'

/** Where the operator's own mail server posts them, below PUBLIC_URL; no carrier has this name. */
export const BOUNCE_PATH = receiptPath('bounce')

/** The keys that open it: the first stands in the URL to use. None while e-mail is off. */
export function bounceKeys(tokens: {
  readonly EMAIL_TOKEN: string | undefined
  readonly EMAIL_TOKEN_PREVIOUS: string | undefined
}): readonly string[] {
  return receiptKeys('bounce', {
    SMS_TOKEN: tokens.EMAIL_TOKEN,
    SMS_TOKEN_PREVIOUS: tokens.EMAIL_TOKEN_PREVIOUS,
  })
}

/** Makes what reads those POSTs. */
export function createBounceSource(keys: readonly string[], read: ReadBounce): BounceSource {
  return {
    path: BOUNCE_PATH,
    keys,
    format: 'mail',
    parseReports: async ({ body }) => (body instanceof Uint8Array ? read(body) : []),
  }
}
