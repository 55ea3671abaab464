import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import { readExample } from '../../../sandbox/carriers/http-gateway.ts'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { CODE, carrierContract } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { EXAMPLES, type Example, gatewayOf, NUMBER, open, SECRET, sms, startServer } from './rig.ts'

/** One of the examples against its stand-in. */
async function start(example: Example): Promise<ContractRig> {
  const { dialect, secrets, codes, templates = NO_TEMPLATES, isUnchecked } = EXAMPLES[example]
  const server = await startServer(dialect)
  const gateway = gatewayOf(readExample(example, server.url))
  const wrong = Object.fromEntries(
    Object.entries(secrets).map(([name, given]) => [name, given === SECRET ? 'canary-wrong' : given]),
  )
  const refuse = (code: string, echo: string): CarrierFault => ({
    is: 'answer',
    ...dialect.refusal(code, echo),
  })
  const lacks = [...(codes.content === undefined ? ['content'] : []), ...(isUnchecked ? ['check'] : [])]
  const rig = carrierContract(server, {
    provider: open(gateway, secrets, { templates }),
    wrongLogin: open(gateway, wrong, { templates }),
    message: sms,
    idOf: ({ ref }) => ref,
    told: [NUMBER, NUMBER.slice(1), CODE, SECRET],
    alsoSecret: [NUMBER.slice(3)],
    refusals: echo => ({
      'refuse-recipient': refuse(codes.recipient, echo),
      'refuse-content': refuse(codes.content ?? codes.recipient, echo),
      'refuse-for-now': refuse(codes.later, echo),
    }),
  })
  return { ...rig, lacks }
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'by a form, as Vonage': async () => start('vonage'),
  'by JSON, as Infobip': async () => start('infobip'),
  'to Telegram': async () => start('telegram'),
  'to WhatsApp, by a template': async () => start('whatsapp'),
  'by an Android phone': async () => start('android-phone'),
}
