import { refuse } from '../aliyun/rig.ts'
import { CODE, carrierContract, templateSms } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { LOGIN, NUMBER, openPnvs, startPnvs } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  async 'with the key of the SMS API'() {
    const server = await startPnvs()
    return carrierContract(server, {
      provider: openPnvs(server.url),
      wrongLogin: openPnvs(server.url, { secret: 'canary-wrong' }),
      message: templateSms,
      idOf: ({ outId }) => outId,
      told: [NUMBER, `+86${NUMBER}`, CODE, LOGIN.secret],
      alsoSecret: ['ACS3-HMAC'],
      refusals: echo => ({
        'refuse-recipient': refuse('MOBILE_NUMBER_ILLEGAL', echo),
        'refuse-content': refuse('isv.SMS_CONTENT_ILLEGAL', echo),
        'refuse-for-now': refuse('Throttling.User', echo),
      }),
    })
  },
}
