import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import { readExample } from '../../../sandbox/carriers/http-gateway.ts'
import { CODE, carrierContract } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { EXAMPLES, type Example, gatewayOf, NUMBER, open, SECRET, sms, startServer } from './rig.ts'

/** One of the examples against its stand-in. */
async function start(example: Example): Promise<ContractRig> {
  const { dialect, secrets, codes } = EXAMPLES[example]
  const server = await startServer(dialect)
  const gateway = gatewayOf(readExample(example, server.url))
  const wrong = Object.fromEntries(Object.keys(secrets).map(name => [name, 'canary-wrong']))
  const refuse = (code: string, echo: string): CarrierFault => ({
    is: 'answer',
    ...dialect.refusal(code, echo),
  })
  return carrierContract(server, {
    provider: open(gateway, secrets),
    wrongLogin: open(gateway, wrong),
    message: sms,
    idOf: ({ ref }) => ref,
    told: [NUMBER, NUMBER.slice(1), CODE, SECRET],
    alsoSecret: [NUMBER.slice(3)],
    refusals: echo => ({
      'refuse-recipient': refuse(codes.recipient, echo),
      'refuse-content': refuse(codes.content, echo),
      'refuse-for-now': refuse(codes.later, echo),
    }),
  })
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'by a form, as Vonage': async () => start('vonage'),
  'by JSON, as Infobip': async () => start('infobip'),
}
