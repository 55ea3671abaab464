import { CODE, carrierContract, templateSms } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { LOGIN, NUMBER, openTencent, refuse, startTencentServer } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  async 'with an API key'() {
    const server = await startTencentServer()
    return carrierContract(server, {
      provider: openTencent(server.url),
      wrongLogin: openTencent(server.url, { secret: 'canary-wrong' }),
      message: templateSms,
      idOf: ({ sessionContext }) => sessionContext,
      told: [NUMBER, NUMBER.slice(3), CODE, LOGIN.secretKey],
      alsoSecret: ['TC3-HMAC'],
      refusals: echo => ({
        'refuse-recipient': refuse('InvalidParameterValue.IncorrectPhoneNumber', echo),
        'refuse-content': refuse('FailedOperation.ContainSensitiveWord', echo),
        'refuse-for-now': refuse('RequestLimitExceeded', echo),
      }),
    })
  },
}
