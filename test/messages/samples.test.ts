import t from 'tap'
import { sampleMessage, samples, withRequiredOnly } from '../../src/messages/samples.ts'

const sampleOf = (channel: string, name: string) => {
  const found = samples.find(each => each.channel === channel && each.name === name)
  if (found === undefined) throw new Error('there is no such sample')
  return found
}

t.test('a sample is a message to somebody who does not exist', async t => {
  const { content, ...rest } = sampleMessage(sampleOf('sms', 'login-code'), 'de')
  t.same(content, { params: { code: '351706', minute: '5' }, words: 'ours', locale: 'de' })
  t.same(rest, {
    id: '00000000000000000000000000000000',
    channel: 'sms',
    kind: 'login-code',
    purpose: 'code',
    recipient: '+12025550123',
    masked: '+12025550123',
    destination: '',
    arrivedAt: Date.UTC(2026, 10, 20, 14, 32, 5),
    expiresAt: Date.UTC(2026, 10, 20, 14, 42, 5),
  })
  const mail = sampleMessage(sampleOf('email', 'plain'), 'en')
  t.match(mail, {
    recipient: 'lin.wei@example.com',
    kind: 'plain',
    purpose: 'plain',
    content: { words: 'plain' },
  })
})

t.test('the same with what it must have alone', async t => {
  const recovery = sampleOf('email', 'member-password-recovery')
  const url = 'https://console.example.com/#!recover/aGVsbG8rd29ybGQ='
  const subject = 'Recover your member password'
  t.same(withRequiredOnly(recovery).content, { params: { url }, subject, words: 'ours' })
})
