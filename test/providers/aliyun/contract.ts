import { CODE, carrierContract, templateSms } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { LOGIN, NUMBER, openAliyun, refuse, startAliyunServer } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  async 'with an access key'() {
    const server = await startAliyunServer()
    return carrierContract(server, {
      provider: openAliyun(server.url),
      wrongLogin: openAliyun(server.url, { secret: 'canary-wrong' }),
      message: templateSms,
      idOf: ({ outId }) => outId,
      told: [NUMBER, `+86${NUMBER}`, CODE, LOGIN.secret],
      alsoSecret: ['ACS3-HMAC'],
      refusals: echo => ({
        'refuse-recipient': refuse('isv.MOBILE_NUMBER_ILLEGAL', `${echo}手机号码格式错误`),
        'refuse-content': refuse('isv.SMS_CONTENT_ILLEGAL', echo),
        'refuse-for-now': refuse('Throttling.User', echo),
      }),
    })
  },
}
