import t from 'tap'
import { groups, settingNames } from '../../src/config/settings.ts'
import { command } from './rig.ts'

const CHINESE = { LANG: 'zh_CN.UTF-8' }

t.test('without a name it lists every group and every setting', async t => {
  const { code, out } = await command(['settings'])
  t.equal(code, 0)
  for (const { title } of groups) t.match(out, new RegExp(`^${title}$`, 'm'))
  t.same(
    out.match(/^ {2}\S+$/gm)?.map(line => line.trim()),
    settingNames,
  )
  t.match((await command(['settings'], CHINESE)).out, /^发送短信$/m)
})

t.test('a name, however it is written, is answered with what its page says', async t => {
  const { code, out } = await command(['settings', 'SMTP_CONNECTIONS'])
  t.equal(code, 0)
  for (const typed of ['smtp_connections', 'SMTP_CONNECTIONS=80', 'smtp-connections'])
    t.equal((await command(['settings', typed])).out, out, typed)
  t.match((await command(['settings', 'SMTP_URL_FILE'])).out, /^SMTP_URL\n/)
  for (const name of settingNames)
    t.match(
      (await command(['settings', name], CHINESE)).out,
      /^\w+\n {2}[^\n]*\p{Script=Han}[^\n]*\n[^]*(?:示例：|默认值：)/u,
      name,
    )
})

t.test('an unknown name gets the nearest ones', async t => {
  const { code, out, err } = await command(['settings', 'SMPT_URL'])
  t.equal(code, 1)
  t.equal(out, '')
  t.match(err, /^There is no setting SMPT_URL\.\nNear to it: SMTP_URL\n/)
  t.match((await command(['settings', 'SMTP_UR'])).err, /\nNear to it: SMTP_URL\n$/, 'named once')
  t.match((await command(['settings', 'dkim'])).err, /DKIM_KEY_FILE/)
  t.match((await command(['settings', 'QUOTA_SMS_PER_DAY'])).err, /\nNear to it: QUOTAS[,\n]/)
  const ofSms = (await command(['settings', 'SMS'])).err.split('Near to it: ')[1]?.split(', ')
  t.equal(ofSms?.length, 8, 'a list of names is not all names')
  t.equal((await command(['settings', 'QQ'])).err, 'There is no setting QQ.\n')
  t.match((await command(['settings', 'dkim'], CHINESE)).err, /^没有名为 dkim 的设置。\n相近的有：/)
})
