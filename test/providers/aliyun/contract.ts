import { CODE, carrierContract, templateSms } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { LOGIN, NUMBER, openAliyun, refuse, startAliyunServer } from './rig.ts'

type Server = Parameters<typeof carrierContract<{ readonly outId: string }>>[0] & { readonly url: string }

/** One of Aliyun's APIs, which refuses a number by this code. */
export function contractOf(server: Server, open: typeof openAliyun, wrongNumber: string): ContractRig {
  return carrierContract(server, {
    provider: open(server.url),
    wrongLogin: open(server.url, { secret: 'canary-wrong' }),
    message: templateSms,
    idOf: ({ outId }) => outId,
    told: [NUMBER, `+86${NUMBER}`, CODE, LOGIN.secret],
    alsoSecret: ['ACS3-HMAC'],
    refusals: echo => ({
      'refuse-recipient': refuse(wrongNumber, `${echo}手机号码格式错误`),
      'refuse-content': refuse('isv.SMS_CONTENT_ILLEGAL', echo),
      'refuse-for-now': refuse('Throttling.User', echo),
    }),
  })
}

export const variants = {
  'with an access key': async () =>
    contractOf(await startAliyunServer(), openAliyun, 'isv.MOBILE_NUMBER_ILLEGAL'),
}
