import { type Diagnosis, diagnoseExchange } from '../diagnosis.ts'
import type { FailedExchange } from '../http-exchange.ts'

/** Twilio's code for an account that is suspended or closed: https://www.twilio.com/docs/api/errors/20005 */
const NOT_ACTIVE = 20005
const INACTIVE: Diagnosis = {
  what: 'the account is suspended or closed',
  next: 'look at https://console.twilio.com: a bill that is open, or a question of Twilio that waits for an answer',
}

/** Finds the cause of a failed login. @param apiUrl where Twilio was asked. */
export function diagnoseTwilio(failed: FailedExchange, apiUrl: string): Diagnosis {
  const { status, code } = (failed.error ?? {}) as { readonly status?: unknown; readonly code?: unknown }
  if (failed.exchange.answer !== undefined && typeof status === 'number')
    return Number(code) === NOT_ACTIVE ? INACTIVE : diagnoseStatus(status)
  return diagnoseExchange(failed, apiUrl, 'TWILIO_API_URL')
}

/** The sentence about an account's status, such as `suspended`; null: it is active. */
export function diagnoseAccount(status: string): Diagnosis | null {
  return status === 'active' ? null : { ...INACTIVE, what: `the account is ${status}` }
}

function diagnoseStatus(status: number): Diagnosis {
  if (status === 401)
    return {
      what: 'Twilio refuses the login',
      next: 'look at TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or at the API key and its secret: a token that was rotated has ended',
    }
  if (status === 403)
    return {
      what: 'Twilio knows the login, and does not allow it this',
      next: 'look at the rights of the API key, at the allowed networks of the account, and that TWILIO_API_URL is of its region',
    }
  if (status === 404)
    return {
      what: 'Twilio does not know the account',
      next: 'look at TWILIO_ACCOUNT_SID, and that TWILIO_API_URL is of its region',
    }
  if (status === 429)
    return {
      what: 'Twilio is asked too often',
      next: 'wait a minute; then look at what else uses the account',
    }
  if (status >= 500)
    return {
      what: 'Twilio has a fault of its own',
      next: 'nothing is to be mended here: look at https://status.twilio.com, and check again later',
    }
  return { what: `Twilio refuses the request (HTTP ${status})`, next: 'look at https://console.twilio.com' }
}
