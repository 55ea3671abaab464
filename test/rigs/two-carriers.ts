import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { AliyunStandInOptions } from '../../sandbox/carriers/aliyun.ts'
import { LOGIN, SIGN_NAME, startAliyunServer } from '../providers/aliyun/rig.ts'
import { APP_ID, startTencentServer, LOGIN as TENCENT } from '../providers/tencent/rig.ts'

export const TEMPLATES = `aliyun:
  login-code: { mainland: { template: SMS_1, params: { code: code } } }
tencent:
  login-code: { mainland: { template: 1110, params: [code, minute] } }
`

/** Stand-ins of Aliyun and Tencent, and the settings by which login codes to China go to the one or else to the other. */
export async function startTwoCarriers(t: Test, atAliyun: Partial<AliyunStandInOptions> = {}) {
  const [aliyun, tencent] = await Promise.all([startAliyunServer(atAliyun), startTencentServer()])
  t.teardown(async () => Promise.all([aliyun.standIn.close(), tencent.standIn.close()]))
  const templatesFile = join(t.testdir(), 'templates.yaml')
  await writeFile(templatesFile, TEMPLATES)
  const settings = {
    ...accountSettings(aliyun, tencent),
    SMS_ROUTES: 'CN=aliyun,tencent; *=twilio',
    SMS_TEMPLATES_FILE: templatesFile,
  }
  return { aliyun, tencent, templatesFile, settings }
}

/** The settings of both accounts, at their stand-ins. */
export function accountSettings(aliyun: { readonly url: string }, tencent: { readonly url: string }) {
  return {
    ALIYUN_ACCESS_KEY_ID: LOGIN.keyId,
    ALIYUN_ACCESS_KEY_SECRET: LOGIN.secret,
    ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
    ALIYUN_API_URL: aliyun.url,
    TENCENT_SECRET_ID: TENCENT.secretId,
    TENCENT_SECRET_KEY: TENCENT.secretKey,
    TENCENT_SMS_APP_ID: APP_ID,
    TENCENT_SMS_SIGN_NAME: SIGN_NAME,
    TENCENT_API_URL: tencent.url,
  }
}
