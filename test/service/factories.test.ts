import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import {
  authenticationOptions,
  openRecipientReader,
  openSmsTemplates,
  openStoreKeys,
  requireTemplates,
} from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'

const silent = pino({ level: 'silent' })
const OWN = { now: 'an-own-key-for-the-sms-url', before: 'the-key-of-the-sms-url-before' }

t.test('who calls is known by the Tokens and keys of the settings', async t => {
  const {
    sources: _,
    wall,
    ...said
  } = authenticationOptions(
    load({
      ...enough,
      EMAIL_TOKEN_PREVIOUS: 'an-old-token-of-the-mails',
      CALLBACK_KEYS: `sms:${OWN.now} sms-previous:${OWN.before}`,
      POST_SIGNATURE: 'required',
      SIGNATURE_MAX_AGE_SECONDS: '77',
    }),
    () => 5,
  )
  t.same(said, {
    corpId: '100fa4b2',
    channels: {
      email: {
        tokens: ['kbXvWqzRtYpLmNhJgFdS', 'an-old-token-of-the-mails'],
        keys: ['cf4808697195d60ef3fa98d1ae509e5b', '969d15d5f30c29582f4cd2b45f4db506'],
      },
      sms: { tokens: ['tGmZwHcYsBxKrVjNdQpF'], keys: [OWN.now, OWN.before] },
    },
    postSignature: 'required',
    signatureMaxAgeSeconds: 77,
  })
  t.equal(wall(), 5)
  const mailOnly = authenticationOptions(load({ ...enough, SMS_TOKEN: '' }), () => 5)
  t.equal(mailOnly.channels.sms, undefined)
})

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

t.test('an address is known by its mailbox, and by STORE_SECRET or a secret beside the store', async t => {
  const folder = t.testdir()
  const keysOf = (name: string, STORE_SECRET = '') =>
    openStoreKeys(load({ ...enough, DATABASE_URL: `file:${join(folder, name, 'outbox.db')}`, STORE_SECRET }))
  const made = await keysOf('a')
  const again = await keysOf('a')
  const other = await keysOf('b')
  const hash = made.recipientHash('email', 'ann@example.com')
  t.equal(made.recipientHash('email', 'Ann+shop@Example.COM'), hash)
  t.equal(again.recipientHash('email', 'ann@example.com'), hash)
  t.not(other.recipientHash('email', 'ann@example.com'), hash)
  t.not(made.recipientHash('sms', '+8613800138000'), made.recipientHash('sms', '+8613800138001'))
  t.match(readFileSync(join(folder, 'a', 'store.secret'), 'utf8'), /^\S{22,}\n?$/)
  const set = 'a-store-secret-of-some-length'
  const [one, two] = [await keysOf('a', set), await keysOf('b', set)]
  t.equal(one.recipientHash('email', 'a@b.cc'), two.recipientHash('email', 'a@b.cc'))
})

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
  const unread = await openSmsTemplates(load({ ...enough, SMS_TOKEN: '', SMS_TEMPLATES_FILE: path }), silent)
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
