import type { CarrierFault } from '../api-server.ts'
import type { NamedFaults } from '../stand-in.ts'

/** How Twilio can be made to behave. */
export const SMS_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: {
    title: 'finds the number invalid',
    fault: twilioSays(400, 21211, "Invalid 'To' Phone Number"),
  },
  country: {
    title: 'may not send to the country',
    fault: twilioSays(400, 21408, 'Permission to send an SMS has not been enabled for the region'),
  },
  later: {
    title: 'is asked too often',
    fault: twilioSays(429, 20429, 'Too Many Requests', { 'retry-after': '5' }),
  },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
}

function twilioSays(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): CarrierFault {
  const body = JSON.stringify({
    code,
    message,
    more_info: `https://www.twilio.com/docs/errors/${code}`,
    status,
  })
  return { is: 'answer', status, body, ...(headers ? { headers } : {}) }
}
