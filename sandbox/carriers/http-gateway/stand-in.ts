import type { CarrierFault } from '../api-server.ts'
import { randomSecret } from '../random-secret.ts'
import { createSmsInbox } from '../sms-inbox.ts'
import type { NamedFaults, StandInModule } from '../stand-in.ts'
import { readExample } from './example.ts'
import { createGatewayStandIn } from './server.ts'
import { createVonage } from './vonage.ts'

const NAME = 'http-gateway'

const refuse = (code: string, words: string): CarrierFault => ({
  is: 'answer',
  ...createVonage({ key: '', secret: '' }).refusal(code, words),
})

/** How the gateway can be made to behave. */
const GATEWAY_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: { title: 'finds the number invalid', fault: refuse('6', 'Unroutable number') },
  content: { title: 'refuses the content', fault: refuse('12', 'Message too long') },
  later: { title: 'is asked too often', fault: refuse('1', 'Throttled') },
  down: { title: 'fails (HTTP 503)', fault: { is: 'answer', status: 503, body: '' } },
  silent: { title: 'takes it and never answers', fault: { is: 'stall', accept: true } },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
}

/** Vonage's SMS API, used by the example of docs/gateways/vonage.yaml. */
export const standIn: StandInModule = {
  title: 'Gateway',
  faults: GATEWAY_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(GATEWAY_FAULTS, changed)
    const login = { key: 'sandbox1', secret: randomSecret() }
    const server = createGatewayStandIn(createVonage(login), {
      now: () => clock.now(),
      fault: inbox.fault,
      onMessage({ id, at, from, to, body }) {
        inbox.add({ id, at, from, to, body })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        SMS_GATEWAYS: readExample('vonage', url, NAME),
        SMS_GATEWAY_SECRETS: JSON.stringify({ vonage_key: login.key, vonage_secret: login.secret }),
      },
      route: { country: 'GB', number: '+447400123400' },
    }))
  },
}
