import type { Channel } from '../../src/messages/message.ts'

/** One callback as the platform makes it, with what it is known by afterwards. */
export interface Callback {
  readonly channel: Channel
  /** Found again in the mail or SMS. */
  readonly code: string
  /** As a sink sees it: a bare address, or E.164. */
  readonly to: string
  /** ms, as the body says it. */
  readonly lifeMs: number
  readonly body: string
}

export interface Wanted {
  readonly kind?: 'code' | 'link' | 'alarm'
  readonly lifeMs?: number
  /** Whose message; another one each time unless given. */
  readonly person?: number
  readonly code?: string
}

/** What a code looks like, wherever it stands. */
export const CODE = /C\d{8}X/

/** Makes callbacks, each with a code and a recipient of its own. */
export function createCallbacks(): (channel: Channel, wanted?: Wanted) => Callback {
  let made = 0
  return (channel, wanted = {}) => {
    made += 1
    const { kind = 'code', lifeMs = 600_000, person = made } = wanted
    const code = wanted.code ?? `C${String(made).padStart(8, '0')}X`
    if (channel === 'sms') {
      const number = `138${String(person).padStart(8, '0')}`
      const body = {
        to: number,
        area_code: '86',
        sms_param: { type: 1, code, minute: (lifeMs / 60_000).toFixed(9) },
      }
      return { channel, code, to: `+86${number}`, lifeMs, body: JSON.stringify(body) }
    }
    const to = `reader${person}@example.com`
    const hour = (lifeMs / 3_600_000).toFixed(9)
    const param = {
      code: { type: 5, code, hour },
      link: { type: 1, url: `https://console.example.com/#!activate/${code}?lang=en`, hour },
      alarm: { type: 8, productName: code, hour },
    }[kind]
    return { channel, code, to, lifeMs, body: JSON.stringify({ subject: 'Test', to, email_param: param }) }
  }
}
