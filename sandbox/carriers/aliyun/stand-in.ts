import { randomSecret } from '../random-secret.ts'
import { createSmsInbox } from '../sms-inbox.ts'
import { mapCodes, type StandInModule } from '../stand-in.ts'
import { ALIYUN_FAULTS } from './answers.ts'
import { createAliyunStandIn } from './server.ts'

const SIGN_NAME = '示例科技'
const PASSED = 'AUDIT_STATE_PASS'

/** Aliyun's SMS API with an account whose signature and templates are approved, but for one of each. */
export const standIn: StandInModule = {
  title: 'Aliyun',
  faults: ALIYUN_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(ALIYUN_FAULTS, changed)
    const login = { keyId: 'LTAI5tSandbox', secret: randomSecret() }
    const server = createAliyunStandIn({
      ...login,
      signatures: [
        { SignName: SIGN_NAME, AuditStatus: PASSED, BusinessType: '通用类型' },
        { SignName: '待审科技', AuditStatus: 'AUDIT_STATE_INIT', BusinessType: '通用类型' },
      ],
      templates: [
        template('SMS_100000001', '您的验证码为${code}，5分钟内有效，请勿告诉他人。', 2),
        template('SMS_100000002', 'Your verification code is ${code}. Never tell it to anybody.', 6),
        { ...template('SMS_100000003', '您的验证码为${code}。', 2), AuditStatus: 'AUDIT_STATE_INIT' },
      ],
      now: () => clock.now(),
      fault: ({ action }) => (action === 'SendSms' ? inbox.fault() : undefined),
      onMessage({ bizId, at, signName, phoneNumber, body }) {
        const to = /^1\d{10}$/.test(phoneNumber) ? `+86${phoneNumber}` : `+${phoneNumber}`
        inbox.add({ id: bizId, at, from: signName, to, body })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        ALIYUN_ACCESS_KEY_ID: login.keyId,
        ALIYUN_ACCESS_KEY_SECRET: login.secret,
        ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
        ALIYUN_API_URL: url,
      },
      route: {
        country: 'CN',
        number: '+8613800138000',
        templates: mapCodes({
          mainland: { template: 'SMS_100000001', params: { code: 'code' } },
          abroad: { template: 'SMS_100000002', params: { code: 'code' } },
        }),
      },
    }))
  },
}

function template(TemplateCode: string, TemplateContent: string, TemplateType: number) {
  return { TemplateCode, TemplateContent, TemplateType, AuditStatus: PASSED }
}
