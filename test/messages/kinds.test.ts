import { readFile } from 'node:fs/promises'
import t from 'tap'
import { callbackKinds, messageKinds, VALIDITY_UNIT } from '../../src/messages/kinds.ts'

t.test('the types are those of the contract, each with its purpose, parameters and sample', async t => {
  const kinds = messageKinds.map(kind => {
    const { channel, name, purpose, required, params, linkParam = 'nothing', sample } = kind
    const [needs, may] = [required, params.filter(each => !required.includes(each))].map(
      each => each.join(' ') || 'nothing',
    )
    const says = Object.entries(sample.params).map(each => each.join('='))
    const example = [sample.subject ?? 'no subject', ...says].join(', ')
    const type = 'type' in kind ? String(kind.type) : '-'
    return `${channel} ${type} ${name}: ${purpose}, needs ${needs}, may say ${may}, links to ${linkParam}, as in ${example}`
  })
  t.same(kinds, [
    'email 1 registration-activation: link, needs url, may say hour, links to url, as in Activate your account, url=https://console.example.com/#!activate/c2FtcGxlLWNvZGU=?lang=en&from=mail, hour=24',
    'email 2 password-reset: link, needs url, may say hour, links to url, as in Reset your password, url=https://console.example.com/reset?token=Zm9vYmFyLTEyMzQ1Njc4&step=2, hour=2',
    'email 3 phone-change: code, needs code, may say hour, links to nothing, as in Change your phone number, code=428913, hour=0.5',
    'email 5 activation-code: code, needs code, may say hour, links to nothing, as in Your activation code, code=730254, hour=1',
    'email 6 recovery-code: code, needs code, may say hour, links to nothing, as in Recover your password, code=096471, hour=1',
    'email 7 file: file, needs download_url, may say nothing, links to download_url, as in Your export is ready, download_url=https://files.example.com/exports/devices-2026-11.xlsx?expires=1795219200',
    'email 8 member-alarm: alarm, needs nothing, may say username corporation productName time email, links to nothing, as in Device alarm, username=Lin Wei, corporation=Northwind Cold Chain, productName=Freezer sensor T2, time=2026-11-20 14:32:05, email=lin.wei@example.com',
    'email 9 member-password-recovery: link, needs url, may say username email verifycode time hour, links to url, as in Recover your member password, url=https://console.example.com/#!recover/aGVsbG8rd29ybGQ=, username=Lin Wei, email=lin.wei@example.com, verifycode=MTIzNDU2Nzg5MA==, time=2026-11-20 14:32:05, hour=24',
    'sms 1 registration-code: code, needs code, may say minute, links to nothing, as in no subject, code=604817, minute=10',
    'sms 2 forgotten-password: code, needs code, may say minute, links to nothing, as in no subject, code=275930, minute=10',
    'sms 3 phone-update: code, needs code, may say minute, links to nothing, as in no subject, code=918264, minute=5',
    'sms 4 login-code: code, needs code, may say minute, links to nothing, as in no subject, code=351706, minute=5',
    'email - device-alert: alarm, needs device, may say product mac rule condition content current count time since, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, mac=A4C138F0112B, rule=rule-temperature, condition=Temperature above -15 C for 5 minutes, content=Freezer too warm: check the door, current=-11.5, count=3, time=2026-11-20 14:32:05 UTC, since=2026-11-20 14:27:05 UTC',
    'email - device-recovered: alarm, needs device, may say product mac rule condition content current count time since, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, mac=A4C138F0112B, rule=rule-temperature, condition=Temperature above -15 C for 5 minutes, content=Freezer too warm: check the door, current=-18.2, count=3, time=2026-11-20 14:41:30 UTC, since=2026-11-20 14:27:05 UTC',
    'email - device-offline: alarm, needs device, may say product project time, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, project=ac0401, time=2026-11-20 14:32:05 UTC',
    'email - device-online: alarm, needs device, may say product project time, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, project=ac0401, time=2026-11-20 14:32:05 UTC',
    'email - device-event: alarm, needs device, may say event values product time, links to nothing, as in no subject, device=1144502133, event=door_forced, values=door: 2, battery: 71, product=1607d2b64f8a1f41, time=2026-11-20 14:32:05 UTC',
    'sms - device-alert: alarm, needs device, may say product mac rule condition content current count time since, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, mac=A4C138F0112B, rule=rule-temperature, condition=Temperature above -15 C for 5 minutes, content=Freezer too warm: check the door, current=-11.5, count=3, time=2026-11-20 14:32:05 UTC, since=2026-11-20 14:27:05 UTC',
    'sms - device-recovered: alarm, needs device, may say product mac rule condition content current count time since, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, mac=A4C138F0112B, rule=rule-temperature, condition=Temperature above -15 C for 5 minutes, content=Freezer too warm: check the door, current=-18.2, count=3, time=2026-11-20 14:41:30 UTC, since=2026-11-20 14:27:05 UTC',
    'sms - device-offline: alarm, needs device, may say product project time, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, project=ac0401, time=2026-11-20 14:32:05 UTC',
    'sms - device-online: alarm, needs device, may say product project time, links to nothing, as in no subject, device=1144502133, product=1607d2b64f8a1f41, project=ac0401, time=2026-11-20 14:32:05 UTC',
    'sms - device-event: alarm, needs device, may say event values product time, links to nothing, as in no subject, device=1144502133, event=door_forced, values=door: 2, battery: 71, product=1607d2b64f8a1f41, time=2026-11-20 14:32:05 UTC',
  ])
})

t.test('docs/contract-readings.md lists every kind with all its parameters', async t => {
  const docs = await readFile(new URL('../../docs/contract-readings.md', import.meta.url), 'utf8')
  for (const { channel, type, name, params } of callbackKinds) {
    const row = new RegExp(`^\\| ${type} \\| \`${name}\` \\|(.*)$`, 'm').exec(docs)?.[1] ?? ''
    const listed = row.match(/(?<=`)\w+(?=`)/g) ?? []
    t.same(listed.toSorted(), [...new Set([...params, VALIDITY_UNIT[channel]])].toSorted(), name)
  }
})
