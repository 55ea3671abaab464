import t from 'tap'
import { refuseRecipients } from '../../src/callback/answers.ts'
import { createPhoneParser, createRecipientReader } from '../../src/callback/recipients.ts'

const read = createRecipientReader(createPhoneParser({ countries: new Set(['CN']), defaultAreaCode: '86' }))

t.test('a list is split at commas, trimmed, and each counts once', async t => {
  const { valid, invalid } = read('email', ' a@x.test,b@x.test,,A@X.test ,\tb@x.test,', undefined)
  t.same(
    valid.map(each => each.to),
    ['a@x.test', 'b@x.test'],
  )
  t.equal(invalid, 0)
  const sms = read('sms', '13800138000, +8613800138000,008613800138000', undefined)
  t.same(
    sms.valid.map(each => each.to),
    ['+8613800138000'],
  )
})

t.test('who cannot be written to counts once too, before a limit is applied', async t => {
  const mails = read('email', `a@x.test,${' nobody ,nobody,'.repeat(60)}`, undefined)
  t.match(mails, { valid: [{ to: 'a@x.test' }], why: 'recipient' })
  t.equal(mails.invalid, 1)
  t.equal(refuseRecipients('email', mails, 2), null)
  t.match(refuseRecipients('email', mails, 1), { err_msg: '/to: more than 1 recipients' })
  const numbers = read('sms', '13800138000, 123,123 ,+15005550006,+15005550006', undefined)
  t.equal(numbers.valid.length, 1)
  t.equal(numbers.invalid, 2)
})

t.test('the country is at fault only when it is for all of them', async t => {
  t.equal(read('sms', '+14155552671,+14155552671', undefined).why, 'country')
  t.equal(read('sms', '+14155552671,123', undefined).why, 'recipient')
  t.equal(read('sms', '13800138000', undefined).why, 'recipient')
})
