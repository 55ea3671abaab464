import t from 'tap'
import { samples, withRequiredOnly } from '../../src/messages/samples.ts'

const sampleOf = (channel: string, name: string) => {
  const found = samples.find(each => each.channel === channel && each.name === name)
  if (found === undefined) throw new Error('there is no such sample')
  return found
}

t.test('the same with what it must have alone', async t => {
  const recovery = sampleOf('email', 'member-password-recovery')
  const url = 'https://console.example.com/#!recover/aGVsbG8rd29ybGQ='
  const subject = 'Recover your member password'
  t.same(withRequiredOnly(recovery).content, { params: { url }, subject, words: 'ours' })
})
