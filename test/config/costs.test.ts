import t from 'tap'
import { priceOf, readCarrierQuotas, readCosts } from '../../src/settings/costs.ts'
import { enough, faultsIn, load } from './settings.ts'

t.test('prices are read by carrier and country, in ten-thousandths', t => {
  const read = readCosts('aliyun: CN=0.045, *=0.5; twilio:us=0.0079,*=1')
  if ('fault' in read) return t.fail(read.fault)
  const price = (carrier: string, country: string) => priceOf(read.value, carrier, country)
  t.same(
    [price('aliyun', 'CN'), price('aliyun', 'DE'), price('twilio', 'US'), price('nobody', 'US')],
    [450, 5000, 79, 0],
  )
  for (const text of [
    '',
    'aliyun',
    'aliyun:',
    'a:CN',
    'a:CN=',
    'a:CN=x',
    'a:CN=0.00001',
    'a:CN=-1',
    'a:UK=1',
  ])
    t.match(readCosts(text), { fault: /must be prices/ }, text)
  for (const text of ['a:CN=1:2', ':CN=1', 'a:CN=1;a:DE=1', 'a:*=99999'])
    t.match(readCosts(text), { fault: /must be prices/ }, text)
  t.end()
})

t.test('quotas of carriers', t => {
  t.same(readCarrierQuotas('aliyun=5000, twilio=0'), {
    value: new Map([
      ['aliyun', 5000],
      ['twilio', 0],
    ]),
  })
  for (const text of ['', 'aliyun', 'aliyun=', 'aliyun=-1', 'aliyun=1,aliyun=2', '=5'])
    t.match(readCarrierQuotas(text), { fault: /must be carriers/ }, text)
  t.end()
})

t.test('both name carriers that there are, and a brake on costs needs prices', t => {
  t.match(faultsIn({ ...enough, SMS_COSTS: 'twlio:*=1' }), [/^SMS_COSTS names a carrier that there is not/])
  t.match(faultsIn({ ...enough, QUOTA_SMS_CARRIER_PER_DAY: 'x=1' }), [/^QUOTA_SMS_CARRIER_PER_DAY names/])
  t.match(faultsIn({ ...enough, QUOTA_SMS_COST_PER_DAY: '5' }), [/^SMS_COSTS is missing/])
  t.equal(load({ ...enough, SMS_COSTS: 'twilio:*=1', QUOTA_SMS_COST_PER_DAY: '5' }).QUOTA_SMS_COST_PER_DAY, 5)
  t.end()
})
