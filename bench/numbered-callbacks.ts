/**
 * A callback with a number, which goes into its recipient and its code, so that a sink can tell a message that was lost,
 * sent twice or sent to somebody else.
 */
export interface Callback {
  readonly number: number
  readonly body: string
}

/** Numbers fit the last eight digits of a mainland mobile number. */
export const NUMBER_LIMIT = 100_000_000

export function codeOf(number: number): string {
  return String(NUMBER_LIMIT + number).slice(1)
}

/** @param domain of the recipient: the first one unless given. */
export function addressOf(number: number, domain = 0): string {
  return `reader.${codeOf(number)}@bench${domain || ''}.example.com`
}

export function phoneOf(number: number): string {
  return `+86138${codeOf(number)}`
}

export function emailCallback(number: number, domain = 0): Callback {
  const email_param = { type: 5, code: codeOf(number), hour: '1' }
  const body = {
    subject: 'Your activation code',
    to: addressOf(number, domain),
    email_param,
    plain_email: null,
  }
  return { number, body: JSON.stringify(body) }
}

export function smsCallback(number: number): Callback {
  const sms_param = { type: 1, code: codeOf(number), minute: '10' }
  const to = phoneOf(number).slice(3)
  return {
    number,
    body: JSON.stringify({ sms_param, to, area_code: '86', plain_sms: null, plugin_id: null }),
  }
}

/** Gives each callback of a run the next number. */
export function createNumbers(): { next(): number; readonly taken: () => number } {
  let taken = 0
  return {
    next() {
      taken += 1
      if (taken >= NUMBER_LIMIT) throw new Error('more messages than a run has numbers for')
      return taken
    },
    taken: () => taken,
  }
}
