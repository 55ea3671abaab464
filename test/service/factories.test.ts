import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import {
  authenticationOptions,
  openRecipientReader,
  openSmsTemplates,
  requireTemplates,
} from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'

const silent = pino({ level: 'silent' })

t.test(
  'an SMS may go to the listed countries, or to the one at home, and only where a route leads',
  async t => {
    const CHINA = '+8613800138000'
    const GERMANY = '+4915123456789'
    const BRITAIN = '+447400123456'
    const all = [CHINA, GERMANY, BRITAIN]
    for (const [given, may] of [
      [{}, [CHINA]],
      [{ SMS_COUNTRIES: 'DE' }, [GERMANY]],
      [{ SMS_COUNTRIES: '*' }, all],
      [{ SMS_COUNTRIES: '*', SMS_ROUTES: 'CN,DE=twilio' }, [CHINA, GERMANY]],
      [{ SMS_COUNTRIES: 'DE,GB', SMS_ROUTES: 'CN,DE=twilio' }, [GERMANY]],
      [{ SMS_COUNTRIES: 'DE,GB', SMS_ROUTES: 'CN=twilio;*=twilio' }, [GERMANY, BRITAIN]],
    ] as const) {
      const { valid, invalid, why } = openRecipientReader(load({ ...enough, ...given }))(
        'sms',
        all.join(','),
        undefined,
      )
      t.same([valid.map(({ to }) => to), invalid], [may, 3 - may.length], JSON.stringify(given))
      t.equal(why, may.length === 3 ? 'recipient' : 'country')
    }
    const home = openRecipientReader(load({ ...enough, DEFAULT_AREA_CODE: '49' }))
    t.match(home('sms', '015123456789', undefined).valid, [{ to: GERMANY, country: 'DE' }])
  },
)

t.test('a start needs one carrier that has templates, if any carrier needs them', async t => {
  const row = '{ mainland: { template: SMS_1, params: { code: code } } }'
  const folder = t.testdir({
    'templates.yaml': 'tencent: {}\n',
    'faulty.yaml': 'twilio:\n  nothing: {}\n',
    'mail.yaml': `twilio:\n  activation-code: ${row}\n  email-change: ${row}\n`,
  })
  const path = join(folder, 'templates.yaml')
  const carriers = {
    ALIYUN_ACCESS_KEY_ID: 'LTAItest',
    ALIYUN_ACCESS_KEY_SECRET: 'a-secret-of-aliyun',
    ALIYUN_SMS_SIGN_NAME: '示例',
    SMS_ROUTES: '*=twilio,aliyun',
  }
  const config = load({ ...enough, ...carriers })
  const sms = (...names: readonly string[]) => names.map(name => ({ name, channel: 'sms' }) as const)
  const refused = (providers: readonly { readonly name: string; readonly channel: 'email' | 'sms' }[]) => {
    try {
      requireTemplates(config, providers, NO_TEMPLATES)
      return []
    } catch (error) {
      return (error as { readonly faults: readonly { readonly name: string }[] }).faults.map(
        ({ name }) => name,
      )
    }
  }
  t.same(refused(sms('aliyun')), ['SMS_TEMPLATES_FILE'])
  t.same(refused(sms('aliyun', 'twilio')), [])
  t.same(refused([]), [])
  t.same(refused([{ name: 'aliyun', channel: 'email' }]), [])
  const withoutSms = load({ ...enough, SMS_TOKEN: '', SMS_TEMPLATES_FILE: path })
  t.equal(authenticationOptions(withoutSms, () => 0).channels.sms, undefined)
  const unread = await openSmsTemplates(withoutSms, silent)
  t.same(unread.faults(), [], 'without SMS nobody reads the file')
  unread.close()
  for (const [file, message] of [
    ['faulty.yaml', /SMS_TEMPLATES_FILE line 2: \w/],
    // Of a mail, though.
    [
      'mail.yaml',
      /^2 settings[^]*line 2: names a kind that there is not: choose from \w[^]*line 3: names a kind/,
    ],
  ] as const) {
    const given = load({ ...enough, SMS_TEMPLATES_FILE: join(folder, file) })
    await t.rejects(openSmsTemplates(given, silent), { message })
  }
})
