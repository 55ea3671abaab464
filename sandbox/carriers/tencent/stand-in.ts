import type { CarrierFault } from '../api-server.ts'
import { randomSecret } from '../random-secret.ts'
import { mapCodes, type ReceivedSms, type StandInModule } from '../stand-in.ts'
import { TENCENT_FAULTS } from './answers.ts'
import { createTencentStandIn } from './server.ts'

const SIGN_NAME = '示例科技'

/** Tencent's SMS API with an account whose signature and templates are approved, but for one of each. */
export const standIn: StandInModule = {
  title: 'Tencent',
  faults: TENCENT_FAULTS,
  async start({ clock, changed }) {
    let received: readonly ReceivedSms[] = []
    let fault: CarrierFault | null = null
    const login = { secretId: 'AKIDsandbox', secretKey: randomSecret() }
    const appId = '1400006666'
    const server = createTencentStandIn({
      ...login,
      appId,
      signatures: [
        { SignId: 1, SignName: SIGN_NAME, International: 0, StatusCode: 0 },
        { SignId: 2, SignName: '待审科技', International: 0, StatusCode: 1 },
      ],
      templates: [
        template(1110, '您的验证码为{1}，请于{2}分钟内填写，请勿告诉他人。', 0),
        template(1111, 'Your verification code is {1}. It is valid for {2} minutes.', 1),
        { ...template(1112, '您的验证码为{1}。', 0), StatusCode: 1 },
      ],
      now: () => clock.now(),
      fault: ({ action }) => (action === 'SendSms' ? (fault ?? undefined) : undefined),
      onMessage({ serialNo: id, at, signName, phoneNumber: to, body }) {
        received = [...received, { id, at, from: signName || 'SMS', to, body }].slice(-200)
        changed()
      },
    })
    const { port } = await server.listen()
    const url = `http://127.0.0.1:${port}`
    return {
      channel: 'sms',
      url,
      settings: {
        TENCENT_SECRET_ID: login.secretId,
        TENCENT_SECRET_KEY: login.secretKey,
        TENCENT_SMS_APP_ID: appId,
        TENCENT_SMS_SIGN_NAME: SIGN_NAME,
        TENCENT_API_URL: url,
      },
      route: {
        country: 'HK',
        number: '+85251234500',
        templates: mapCodes({
          mainland: { template: '1110', params: ['code', 'minute'] },
          abroad: { template: '1111', params: ['code', 'minute'] },
        }),
      },
      sms: () => received,
      setFault(name) {
        fault = TENCENT_FAULTS[name]?.fault ?? null
      },
      clear() {
        received = []
      },
      close: () => server.close(),
    }
  },
}

function template(TemplateId: number, TemplateContent: string, International: number) {
  return { TemplateId, TemplateContent, International, StatusCode: 0 }
}
