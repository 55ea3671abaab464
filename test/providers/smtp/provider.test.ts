import t from 'tap'
import { createSmtpProvider } from '../../../src/providers/smtp/provider.ts'
import { longestSmtpAttemptMs, SMTP_LIMITS } from '../../../src/providers/smtp/settings.ts'

await t.test('a lease of seven minutes outlives the longest attempt', async t => {
  t.equal(longestSmtpAttemptMs(), 390_000)
  t.equal(SMTP_LIMITS.replyMs, 300_000)
})

await t.test('a wrong URL is named without its password', async t => {
  const url = 'http://courier:canary-pass@mail.example.com'
  const open = (): unknown =>
    createSmtpProvider({ name: 'smtp', url, ehloName: 'a.example', bounceTo: 'b@a.example' })
  t.throws(open, { name: 'TypeError', message: /must look like smtp:\/\// })
  try {
    open()
  } catch (error) {
    t.notMatch(String(error), /canary/)
  }
})
