import { randomSecret } from '../random-secret.ts'
import { createSmsInbox } from '../sms-inbox.ts'
import { mapCodes, type StandInModule } from '../stand-in.ts'
import { TENCENT_FAULTS } from './answers.ts'
import { createTencentStandIn } from './server.ts'

const SIGN_NAME = '示例科技'

/** Tencent's SMS API with an account whose signature and templates are approved, but for one of each. */
export const standIn: StandInModule = {
  title: 'Tencent',
  faults: TENCENT_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(TENCENT_FAULTS, changed)
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
      fault: ({ action }) => (action === 'SendSms' ? inbox.fault() : undefined),
      onMessage({ serialNo: id, at, signName, phoneNumber: to, body }) {
        inbox.add({ id, at, from: signName || 'SMS', to, body })
      },
    })
    return inbox.serve(server, url => ({
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
    }))
  },
}

function template(TemplateId: number, TemplateContent: string, International: number) {
  return { TemplateId, TemplateContent, International, StatusCode: 0 }
}
